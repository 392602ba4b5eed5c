/** Reads the reason and the invalid fields of an error, and adds hints for developers to its message. */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { Code, ConnectError } from '@connectrpc/connect';

const LENGTH_DELIMITED = 2;

/** A field of the request that Usher refused. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** Returns the reason that Usher gives for an error, such as `USER_NOT_FOUND`. Reasons never change. */
export function reasonOf(error: unknown): string | undefined {
  const detail = findDetail(error, 'google.rpc.ErrorInfo');
  return detail && readTexts(detail).get(1)?.[0];
}

/** Returns the fields that Usher refused, for an error with the reason `VALIDATION_FAILED`. */
export function fieldsOf(error: unknown): FieldProblem[] {
  const detail = findDetail(error, 'google.rpc.BadRequest');
  const violations = detail ? (readBytes(detail).get(1) ?? []) : [];
  return violations.map((violation) => {
    const texts = readTexts(violation);
    return { field: texts.get(1)?.[0] ?? '', message: texts.get(2)?.[0] ?? '' };
  });
}

/** Hints for errors that are usually mistakes of developers. */
const HINTS: Readonly<Record<string, string>> = {
  INVALID_ADMIN_KEY: 'adminKey is not an admin key of this Usher; an API key is not an admin key',
  INVALID_API_KEY: 'apiKey is unknown to this Usher, or revoked; API keys begin with usk_',
  CURSOR_EXPIRED:
    'the messages after it are no longer kept, or may be missing; read your lists again, and then watch without a cursor',
  MESSAGE_FEED_OFF: 'an operator turns it on with messageFeed of UpdateApplication',
  CLIENT_ID_MISMATCH: 'apiKey belongs to another application than clientId',
  INVALID_REDIRECT_URI:
    'redirectUri must be one of the application, character for character; UpdateApplication adds it',
  INVALID_TOKEN: 'authToken is older than 15 minutes, or belongs to another application or another Usher',
  SESSION_EXPIRED:
    'sessionId belongs to a session that has ended, or to another application; the user has to sign in again',
};

/** Every error of Usher has a reason, even that of an unknown RPC. Without a reason, another server has answered. */
const isOfAnotherServer = (error: ConnectError) => error.code === Code.Unimplemented && reasonOf(error) === undefined;
const WRONG_URL = 'baseUrl leads to another server than Usher; it must be the origin of Usher, without a path';

/**
 * Adds to the message what to do. Adds `status` 503, with which Express and others answer, to errors of the network and
 * of overload. Returns the error.
 */
export function explain(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  const problems = fieldsOf(error).map(({ field, message }) => `${field} ${message}`);
  const hint = problems.join('; ') || (isOfAnotherServer(error) ? WRONG_URL : HINTS[reasonOf(error) ?? '']);
  if (hint) error.message += `: ${hint}`;
  const isUnavailable = [Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted].includes(error.code);
  return isUnavailable ? Object.assign(error, { status: 503 }) : error;
}

function findDetail(error: unknown, type: string): Uint8Array | undefined {
  if (!(error instanceof ConnectError)) return undefined;
  for (const detail of error.details) if ('type' in detail && detail.type === type) return detail.value;
  return undefined;
}

function readTexts(message: Uint8Array): Map<number, string[]> {
  const decoder = new TextDecoder();
  return new Map(
    [...readBytes(message)].map(([field, values]) => [field, values.map((value) => decoder.decode(value))]),
  );
}

/** Decodes the details by hand, because the packages that have their schema take 35 MB or more. */
function readBytes(message: Uint8Array): Map<number, Uint8Array[]> {
  const fields = new Map<number, Uint8Array[]>();
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (wireType === LENGTH_DELIMITED) fields.set(field, [...(fields.get(field) ?? []), reader.bytes()]);
    else reader.skip(wireType);
  }
  return fields;
}
