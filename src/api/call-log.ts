import { codeToString } from '@connectrpc/connect/protocol-connect';
import type { Logger } from 'pino';
import type { HttpContext } from '../http/http-context.ts';
import { durationMsSince } from '../log.ts';
import type { RpcCall } from './call.ts';

/** One line per call. It names no field of the request or the reply. */
export function logCall(logger: Logger, call: RpcCall, { status, isSent }: { status: number; isSent: boolean }): void {
  logger.info(
    {
      requestId: call.requestId,
      protocol: call.protocol,
      method: call.procedure,
      code: codeOf(call, isSent),
      status,
      durationMs: durationMsSince(call.startedAt),
      applicationId: call.application?.id,
      reason: call.reason,
    },
    'call',
  );
}

export function logWhenDone(logger: Logger, call: RpcCall, { response }: HttpContext): void {
  response.once('close', () => {
    logCall(logger, call, { status: response.statusCode, isSent: response.headersSent && response.writableFinished });
  });
}

/** A caller who has gone before the reply was out has heard nothing. */
function codeOf({ code }: RpcCall, isSent: boolean): string {
  if (!isSent) return 'canceled';
  return code === 'ok' ? 'ok' : codeToString(code);
}
