import type { DescMessage } from '@bufbuild/protobuf';
import { type FieldError, isFieldError } from '@bufbuild/protobuf/reflect';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { Code, ConnectError } from '@connectrpc/connect';
import { codeFromString } from '@connectrpc/connect/protocol-connect';
import type { Logger } from 'pino';
import { type ErrorReason, invalidField, ServiceError, type Violation } from '../../domain/core/errors.ts';
import type { HttpErrorReason } from '../../http/errors.ts';
import { RETRY_SOON } from '../../http/exchange.ts';
import { malformedMessage } from '../call-errors.ts';
import { pathInside, unknownFields } from '../unknown-fields.ts';

/** Returns the error for Connect, with its reason and field violations as error details. */
export function toConnectError({ code, help, message, reason, violations }: ServiceError): ConnectError {
  const headers = code === 'unavailable' ? RETRY_SOON : undefined;
  const error = new ConnectError(message, codeFromString(code), headers);
  error.details = toErrorDetails({ reason, violations, help });
  return error;
}

/**
 * Returns the error for a request message of the schema that Connect cannot decode. For some of these messages Connect
 * reports `Internal`, as if the server had failed, but the request is wrong.
 */
export function toDecodingError(error: unknown, schema: DescMessage): ServiceError {
  if (!(error instanceof ConnectError)) return malformedMessage();
  // Of the decoder of JSON.
  if (error.cause instanceof ServiceError) return error.cause;
  if (error.rawMessage === COMPRESSED) return new ServiceError('COMPRESSED_WITHOUT_ENCODING');
  const [, typeName, key] = UNKNOWN_KEY.exec(error.rawMessage) ?? [];
  if (typeName && key !== undefined) return unknownFields([pathInside(schema, typeName, key)]);
  const fieldError = findFieldError(error);
  if (fieldError) {
    const field = fieldError.field();
    const name = field.kind === 'field' ? field.jsonName : field.name;
    return invalidField(name, 'must be of the documented type');
  }
  const isMalformed = error.code === Code.Internal || error.code === Code.InvalidArgument;
  return isMalformed ? malformedMessage() : toServiceError(error);
}

/** Connect has only this text for a frame with the compressed flag in a request without an encoding. */
const COMPRESSED = 'received compressed envelope, but do not know how to decompress';

/**
 * Protobuf reports the first unknown field with its message type, and only in this text. Connect decodes compressed and
 * enveloped messages itself, and passes on the error without the message, so that no walk of the JSON could find it.
 */
const UNKNOWN_KEY = /cannot decode message (\S+) from JSON: key "(.*)" is unknown$/s;

/** Adds a reason to an error of Connect's own, such as an unknown compression. */
function toServiceError({ code, rawMessage }: ConnectError): ServiceError {
  return new ServiceError(REASONS[code] ?? 'INTERNAL_ERROR', { message: rawMessage });
}

const REASONS: Readonly<Partial<Record<Code, ErrorReason>>> = {
  [Code.Canceled]: 'CANCELED',
  [Code.DeadlineExceeded]: 'DEADLINE_EXCEEDED',
  [Code.InvalidArgument]: 'INVALID_TIMEOUT',
  [Code.ResourceExhausted]: 'MESSAGE_TOO_LARGE',
  [Code.Unimplemented]: 'PROTOCOL_ERROR',
};

/** Protobuf wraps the error of a field in the error of its message. */
function findFieldError(error: unknown): FieldError | undefined {
  if (isFieldError(error)) return error;
  return error instanceof Error ? findFieldError(error.cause) : undefined;
}

/** Returns the error that ends a stream. Logs an unexpected error, and returns `Internal error` instead. */
export function toStreamError(error: unknown, logger: Logger): ServiceError {
  if (error instanceof ServiceError) return error;
  if (error instanceof ConnectError) return toServiceError(error);
  logger.error({ err: error }, 'unexpected error');
  return new ServiceError('INTERNAL_ERROR');
}

/** Returns Connect's HTTP status, except for a message that is too large: HTTP has 413 for that. */
export function toHttpStatus(connectStatus: number): number {
  return connectStatus === 429 ? 413 : connectStatus;
}

type Detail = ConnectError['details'][number];

const DOMAIN = 'usher';

/**
 * Returns the error details that clients of every language know: `google.rpc.BadRequest`, if there are violations,
 * `google.rpc.ErrorInfo`, and `google.rpc.Help`, if there is a page to read. They are encoded by hand: the packages with
 * their schema have 35 MB and more, and a copy of the schema would clash with the original in clients that have both.
 */
export function toErrorDetails({ reason, violations = [], help }: Explained): Detail[] {
  const info: Detail = {
    type: 'google.rpc.ErrorInfo',
    value: writeTexts(new BinaryWriter(), reason, DOMAIN).finish(),
    debug: { reason, domain: DOMAIN },
  };
  return [...(violations.length > 0 ? [toBadRequest(violations)] : []), info, ...(help ? [toHelp(help)] : [])];
}

interface Explained {
  readonly reason: ErrorReason | HttpErrorReason;
  readonly violations?: readonly Violation[] | undefined;
  readonly help?: string | undefined;
}

function toHelp(url: string): Detail {
  const description = 'What to do';
  const writer = new BinaryWriter();
  writeTexts(writer.tag(1, WireType.LengthDelimited).fork(), description, url).join();
  return { type: 'google.rpc.Help', value: writer.finish(), debug: { links: [{ description, url }] } };
}

function toBadRequest(violations: readonly Violation[]): Detail {
  const writer = new BinaryWriter();
  for (const { field, message } of violations) {
    writeTexts(writer.tag(1, WireType.LengthDelimited).fork(), field, message).join();
  }
  return {
    type: 'google.rpc.BadRequest',
    value: writer.finish(),
    debug: { fieldViolations: violations.map(({ field, message }) => ({ field, description: message })) },
  };
}

/** Writes the fields 1 and 2. */
function writeTexts(writer: BinaryWriter, first: string, second: string): BinaryWriter {
  return writer.tag(1, WireType.LengthDelimited).string(first).tag(2, WireType.LengthDelimited).string(second);
}
