/** Reads error details by the original schema of Google's, and checks the reason of every error. */
import type { ConnectError } from '@connectrpc/connect';
import { BadRequest, ErrorInfo, Help } from 'nice-grpc-error-details';
import { ERRORS } from '../../src/domain/core/errors.ts';
import { HTTP_ERRORS } from '../../src/http/errors.ts';

/** Returns the reason, which fields are wrong, and where to read on. @throws if there is not exactly one reason, in Usher's domain */
export function readErrorDetails(error: ConnectError) {
  const read = <T>(type: string, decode: (bytes: Uint8Array) => T) =>
    error.details
      .flatMap((detail) => ('value' in detail && 'type' in detail && detail.type === type ? [detail.value] : []))
      .map((value) => decode(value as Uint8Array));
  const [info, ...others] = read('google.rpc.ErrorInfo', ErrorInfo.decode);
  if (info?.domain !== 'usher' || others.length > 0) throw new Error(`No reason: ${JSON.stringify(error.details)}`);
  return {
    info,
    fieldViolations: read('google.rpc.BadRequest', BadRequest.decode).flatMap((each) => each.fieldViolations),
    links: read('google.rpc.Help', Help.decode).flatMap((each) => each.links),
  };
}

/** Messages that Connect words. */
const OF_CONNECT = ['INVALID_TIMEOUT', 'MESSAGE_TOO_LARGE', 'PROTOCOL_ERROR'];

/** @throws unless the reason is a documented one of that message */
export function checkReason(reason: unknown, message: string): void {
  const known: Readonly<Record<string, readonly [unknown, message: string]>> = { ...ERRORS, ...HTTP_ERRORS };
  const isKnown = typeof reason === 'string' && (OF_CONNECT.includes(reason) || known[reason]?.[1] === message);
  if (!isKnown) throw new Error(`"${message}" has the reason ${reason}`);
}
