/** Endpoints without a credential: liveness, readiness, and the keys that verify auth tokens. */
import type { JWK } from 'jose';
import { CACHED_BRIEFLY, RETRY_SOON, sendJson } from '../../http/exchange.ts';
import type { HttpContext, PathHandler } from '../../http/http-context.ts';
import { refuseUnlessRead } from '../envelope.ts';
import type { Readiness } from './readiness.ts';

/** The paths that load balancers probe. */
export const PROBE_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

interface OperationsParts {
  readonly readiness: Readiness;
  readonly tokens: { readonly publicJwks: { readonly keys: readonly JWK[] } };
}

export function createOperationsEndpoints({ readiness, tokens: { publicJwks } }: OperationsParts): PathHandler {
  const jwks = JSON.stringify(publicJwks);
  const endpoints: Record<string, (context: HttpContext) => Promise<void> | void> = {
    '/healthz': (context) => sendJson(context, 200, '{"status":"ok"}'),
    '/readyz': async (context) => {
      if (await readiness.read()) sendJson(context, 200, '{"status":"ready"}');
      else sendJson(context, 503, '{"status":"not ready"}', RETRY_SOON);
    },
    '/.well-known/jwks.json': (context) => sendJson(context, 200, jwks, CACHED_BRIEFLY),
  };

  return async (context) => {
    const answer = Object.hasOwn(endpoints, context.path) ? endpoints[context.path] : undefined;
    if (!answer) return false;
    if (!refuseUnlessRead(context)) await answer(context);
    return true;
  };
}
