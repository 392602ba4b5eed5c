/** `Idempotency-Key`: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/ */
import {
  create,
  type DescField,
  type DescMethod,
  type DescMethodUnary,
  fromBinary,
  toBinary,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import type { Run } from '../database/pool/database.ts';
import type { Call, Transactional } from '../domain/core/call.ts';
import { ServiceError } from '../domain/core/errors.ts';
import { lockNameOf } from '../domain/events/lock-event.ts';
import { answerOnce, type KeyedRequest } from '../domain/idempotency/answer-once.ts';
import type { Fields, ResponseMessage } from './call-info.ts';

/**
 * The calls that create or rotate something, so that a repeated call would do it again. All others have the same effect
 * if they are repeated.
 */
const CREATING: readonly DescMethod[] = [
  AuthService.method.generateAuthUrl,
  WebhookService.method.createWebhook,
  WebhookService.method.rotateSigningKey,
  WebhookService.method.sendTestMessage,
  WebhookService.method.redeliver,
  WebhookService.method.redeliverFailed,
  EventService.method.createEvent,
  EventService.method.checkIn,
  AdminService.method.createApplication,
  AdminService.method.createApiKey,
  AdminService.method.rotateApiKey,
  AdminService.method.createUser,
  AdminService.method.createGroup,
  AdminService.method.createRecoveryLink,
];

export const IDEMPOTENCY_HEADER = 'Idempotency-Key';
const MAX_KEY_LENGTH = 255;
/** Of a quoted key whose characters are all escaped. */
export const MAX_HEADER_LENGTH = 2 * MAX_KEY_LENGTH + 2;
/** A string of RFC 9651, as the draft demands, or the plain text that many clients send. */
const KEY = new RegExp(
  String.raw`^(?:"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,${MAX_KEY_LENGTH}})"|([\w.~:/+=@-]{1,${MAX_KEY_LENGTH}}))$`,
);

export function takesIdempotencyKey(method: DescMethod): boolean {
  return CREATING.includes(method);
}

/** @throws ServiceError `Invalid idempotency key` */
export function readIdempotencyKey(header: string): string {
  const [, quoted, plain] = KEY.exec(header) ?? [];
  const key = plain ?? quoted?.replace(/\\(.)/g, '$1');
  if (key === undefined) throw new ServiceError('INVALID_IDEMPOTENCY_KEY');
  return key;
}

/** A call whose changes are parts of a transaction. */
export interface KeyedCall extends Omit<KeyedRequest, 'content' | 'lock'> {
  readonly method: DescMethodUnary;
  readonly fields: Fields;
  /** Returns the call of the domain, which runs its statements with `run`. */
  toCall(run: Run): Call & Transactional;
}

/**
 * Handles a call once, and answers calls with the same key and request with the same message.
 *
 * @throws ServiceError as `answerOnce` does
 */
export async function handleOnce(
  parts: Parameters<typeof answerOnce>[0],
  { method: { input, output }, fields, toCall, ...request }: KeyedCall,
  handle: (call: Call & Transactional) => Promise<ResponseMessage>,
): Promise<ResponseMessage> {
  const afterCommit: (() => void)[] = [];
  const content = JSON.stringify(toCanonical(input.fields, fields), withoutBigints);
  const { applicationId } = request;
  const lock = 'eventId' in fields ? lockNameOf({ applicationId, eventId: String(fields.eventId) }) : undefined;
  const answer = await answerOnce(parts, { ...request, lock, content }, async (run) => {
    const { onMessage, count, ...call } = toCall(run);
    const response = await handle({
      ...call,
      onMessage: (applicationId) => afterCommit.push(() => onMessage?.(applicationId)),
      count: (name) => afterCommit.push(() => count?.(name)),
    });
    return toBinary(output, create(output, response));
  });
  for (const act of afterCommit) act();
  return fromBinary(output, answer);
}

/** Returns pairs in the order of the schema, without the zero values that RPCs do not send. */
function toCanonical(schema: readonly DescField[], fields: Fields): unknown[] {
  return schema.flatMap((field) => {
    const value = (fields as Readonly<Record<string, unknown>>)[field.localName];
    const isEmpty = !value || (Array.isArray(value) && value.length === 0);
    const isZero = field.presence === FeatureSet_FieldPresence.IMPLICIT && isEmpty;
    return value === undefined || isZero ? [] : [[field.localName, value]];
  });
}

function withoutBigints(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
