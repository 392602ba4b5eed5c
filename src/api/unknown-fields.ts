/** Refuses fields that a call does not have: otherwise a misspelt field would have no effect, and nobody would know. */
import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { ServiceError } from '../domain/core/errors.ts';

/** Enough to correct a request. A hostile request may have thousands of unknown fields. */
const MAX_NAMED = 10;
const MAX_PATH_LENGTH = 128;

export function unknownFields(paths: readonly string[]): ServiceError {
  const violations = paths.slice(0, MAX_NAMED).map((path) => ({ field: shorten(path), message: 'is unknown' }));
  return new ServiceError('VALIDATION_FAILED', { violations });
}

/** Returns the path of a field of the message `typeName` inside `schema`. It has no indexes of lists. */
export function pathInside(schema: DescMessage, typeName: string, name: string): string {
  return `${findPath(schema, typeName) ?? ''}${name}`;
}

function findPath(schema: DescMessage, typeName: string): string | undefined {
  if (schema.typeName === typeName) return '';
  for (const { jsonName, message } of schema.fields) {
    const path = message && message !== schema ? findPath(message, typeName) : undefined;
    if (path !== undefined) return `${jsonName}.${path}`;
  }
  return undefined;
}

/** Names come from the caller, and the encoder of Protobuf refuses lone surrogates. */
export function shorten(path: string): string {
  const text = path.toWellFormed();
  return text.length > MAX_PATH_LENGTH ? `${text.slice(0, MAX_PATH_LENGTH).toWellFormed()}…` : text;
}

/** The calls of the contract. They have always ignored unknown fields, and applications may rely on that. */
const LENIENT: readonly DescMethod[] = [
  AuthService.method.generateAuthUrl,
  AuthService.method.exchangeToken,
  WebhookService.method.getWebhook,
  EventService.method.deleteEvent,
];

/** Returns whether the call ignores fields and query parameters that it does not know. */
export function ignoresUnknownFields(method: DescMethod): boolean {
  return LENIENT.includes(method);
}
