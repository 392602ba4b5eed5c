import { Code } from '@connectrpc/connect';
import type { Logger } from 'pino';
import type { HttpExchange } from '../net/exchange.ts';
import type { RpcCall } from './call.ts';

/** One line per call, when its reply is out. It names no field of the request or the reply. */
export function logWhenDone(logger: Logger, call: RpcCall, { response }: HttpExchange): void {
  response.once('close', () => {
    logger.info(
      {
        requestId: call.requestId,
        protocol: call.protocol,
        method: call.procedure,
        code: codeOf(call, response.writableFinished),
        status: response.statusCode,
        durationMs: Math.round((performance.now() - call.startedAt) * 100) / 100,
        application: call.application?.id,
        reason: call.reason,
      },
      'call',
    );
  });
}

/** A caller who has gone before the reply was out has heard nothing. */
function codeOf({ code }: RpcCall, isSent: boolean): string {
  if (!isSent) return 'canceled';
  return code === 'ok' ? 'ok' : toSnakeCase(Code[code]);
}

function toSnakeCase(name: string): string {
  return name.replace(/(?<=.)[A-Z]/g, '_$&').toLowerCase();
}
