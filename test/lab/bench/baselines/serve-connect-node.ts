/** A common choice: connect-node's own adapter, with SQL by hand. HTTP/1.1 and HTTP/2 have a port each, as it serves them. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { ConnectError, type ConnectRouter, createContextKey, type Interceptor } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { BaselineCall, toAnswer } from './baseline-call.ts';
import { openBaseline } from './open-baseline.ts';
import type { Caller } from './operations.ts';
import { createRpcMethods } from './rpc-methods.ts';

const { config, logger, operations } = openBaseline();
const callerKey = createContextKey<Caller | undefined>(undefined);

const authenticate: Interceptor = (next) => async (request) => {
  const call = new BaselineCall(request.service.typeName, request.header.get('x-request-id') ?? undefined);
  let outcome = 'ok';
  try {
    call.application = await operations.authenticate(request.header.get('x-api-key') ?? undefined);
    const userAgent = request.header.get('user-agent') ?? '';
    const { application, requestId } = call;
    request.contextValues.set(callerKey, { application, requestId, ipAddress: '127.0.0.1', userAgent });
    const response = await next(request);
    response.header.set('x-request-id', call.requestId);
    response.header.set('cache-control', 'no-store');
    return response;
  } catch (error) {
    const { code, message } = toAnswer(error);
    outcome = String(code);
    throw new ConnectError(message, code);
  } finally {
    call.log(logger, { method: `${request.service.typeName}/${request.method.name}`, code: outcome, status: 200 });
  }
};

function routes(router: ConnectRouter): void {
  for (const { method, run } of createRpcMethods(operations)) {
    router.rpc(method, (request, { values }) => {
      const caller = values.get(callerKey);
      if (!caller) throw new Error('The context has no caller');
      return run(caller, request);
    });
  }
}

const handler = connectNodeAdapter({ routes, interceptors: [authenticate] });
await once(createServer(handler).listen(config.port, config.host), 'listening');
createHttp2Server(handler).listen(config.port, config.host);
