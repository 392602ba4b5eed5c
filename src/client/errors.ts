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

/** Returns the error with the status that Express and others answer with, if it is one of the network or of overload. */
export function withStatus(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
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
