/**
 * The error details that clients of every language know: `google.rpc.BadRequest` and `google.rpc.ErrorInfo`. They are
 * encoded by hand: the packages with their schema have 35 MB and more, and a copy of the schema would clash with the
 * original in clients that have both.
 */
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { ConnectError } from '@connectrpc/connect';
import type { ErrorReason, Violation } from '../../domain/core/errors.ts';
import type { HttpErrorReason } from '../../http/errors.ts';

type Detail = ConnectError['details'][number];

const DOMAIN = 'usher';

/** Returns the field violations, if there are any, and the reason. */
export function toErrorDetails(reason: ErrorReason | HttpErrorReason, violations: readonly Violation[] = []): Detail[] {
  const info: Detail = {
    type: 'google.rpc.ErrorInfo',
    value: writeTexts(new BinaryWriter(), reason, DOMAIN).finish(),
    debug: { reason, domain: DOMAIN },
  };
  return violations.length === 0 ? [info] : [toBadRequest(violations), info];
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
