/** The course of a unary call, over REST and on the fast paths; Connect takes the same one by itself. */
import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { HttpError } from '../http/read-body.ts';
import type { RpcCall } from './call.ts';
import { deadlineErrorOf, TIMED_OUT, withinDeadline } from './deadline.ts';
import { toConnectError } from './errors.ts';
import type { Fields, Procedure } from './procedures.ts';

/** Resolves to the fields of the request, or to undefined to leave the request to somebody else. */
export type ReadFields = () => Promise<Fields<DescMessage> | undefined>;

/**
 * Takes the call through its gate, reads its request and has it handled, all before its deadline.
 * Throws the error to answer with, its code noted in the call: a ConnectError, or the HttpError that
 * `read` threw. Resolves to undefined where `read` did.
 */
export async function runUnary(
  procedure: Procedure,
  call: RpcCall,
  read: ReadFields,
  logger: Logger,
): Promise<MessageInitShape<DescMessage> | undefined> {
  try {
    const response = await withinDeadline(() => run(procedure, call, read), call);
    if (response === TIMED_OUT) throw deadlineErrorOf(call);
    return response;
  } catch (error) {
    if (error instanceof HttpError) {
      call.code = error.status === 408 ? Code.DeadlineExceeded : Code.InvalidArgument;
      throw error;
    }
    throw toConnectError(error, call, logger);
  }
}

async function run({ method, gate, handler }: Procedure, call: RpcCall, read: ReadFields) {
  await gate(call, method);
  // Looking up the key may have taken all the time there was.
  if (performance.now() >= call.deadline) throw deadlineErrorOf(call);
  call.phase = 'decoding';
  const request = await read();
  if (!request) return undefined;
  call.phase = 'implementation';
  return handler(request, call);
}
