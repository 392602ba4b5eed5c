/** What an error of a call says, for programs. */
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { Code, ConnectError } from '@connectrpc/connect';

const LENGTH_DELIMITED = 2;

/** What is wrong with a field of the request. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** Returns the reason of an error of Usher's, such as `USER_NOT_FOUND`. Reasons never change. */
export function reasonOf(error: unknown): string | undefined {
  const detail = findDetail(error, 'google.rpc.ErrorInfo');
  return detail && readTexts(detail).get(1)?.[0];
}

/** Returns what is wrong with which field, for an error with the reason `VALIDATION_FAILED`. */
export function fieldsOf(error: unknown): FieldProblem[] {
  const detail = findDetail(error, 'google.rpc.BadRequest');
  const violations = detail ? (readBytes(detail).get(1) ?? []) : [];
  return violations.map((violation) => {
    const texts = readTexts(violation);
    return { field: texts.get(1)?.[0] ?? '', message: texts.get(2)?.[0] ?? '' };
  });
}

/** What developers do about an error that a mistake of theirs has. */
const HINTS: Readonly<Record<string, string>> = {
  INVALID_ADMIN_KEY: 'adminKey is none of this Usher; API keys are others',
  INVALID_API_KEY: 'apiKey is none of this Usher, or was revoked; API keys begin with usk_',
  CLIENT_ID_MISMATCH: 'apiKey is that of another application than clientId',
  INVALID_REDIRECT_URI: 'redirectUri must be one of the application, to the letter; UpdateApplication adds it',
  INVALID_TOKEN: 'authToken is older than 15 minutes, or from a login of another application or Usher',
  SESSION_EXPIRED: 'sessionId is of a session that has ended, or of another application; the user has to sign in again',
};

/** Usher gives a reason with every error of its own, also where it has no such RPC. */
const isOfAnother = (error: ConnectError) => error.code === Code.Unimplemented && reasonOf(error) === undefined;
const WRONG_URL = 'baseUrl leads to something else than Usher; it is the origin of Usher, without a path';

/**
 * Returns the error with a message that says what to do, and with the status that Express and others answer with, if
 * it is one of the network or of overload.
 */
export function explain(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  const problems = fieldsOf(error).map(({ field, message }) => `${field} ${message}`);
  const hint = problems.join('; ') || (isOfAnother(error) ? WRONG_URL : HINTS[reasonOf(error) ?? '']);
  if (hint) error.message += `: ${hint}`;
  const isAway = [Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted].includes(error.code);
  return isAway ? Object.assign(error, { status: 503 }) : error;
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

/** Reads the details by hand: the packages with their schema have 35 MB and more. */
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
