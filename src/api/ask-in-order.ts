import type { HttpHandler, PathHandler } from '../http/http-context.ts';
import { sendFailure } from './envelope.ts';

/** Passes paths below `/api` to `rest`, and any other path to the first of `handlers` that knows the path. */
export function askInOrder(rest: HttpHandler, handlers: readonly PathHandler[]): HttpHandler {
  return async (context) => {
    if (context.path === '/api' || context.path.startsWith('/api/')) return rest(context);
    for (const handle of handlers) if (await handle(context)) return;
    sendFailure(context, 'NOT_FOUND');
  };
}
