/** Endpoints without a credential: liveness, readiness, and the keys that verify auth tokens. */
import type { JWK } from 'jose';
import { CACHED_BRIEFLY, RETRY_SOON, sendJson } from '../../http/exchange.ts';
import type { HttpRoute } from '../../http/route-table.ts';
import type { Readiness } from './readiness.ts';

/** The paths that load balancers probe. */
export const PROBE_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

interface OperationsParts {
  readonly readiness: Readiness;
  readonly tokens: { readonly publicJwks: { readonly keys: readonly JWK[] } };
}

export function createOperationsRoutes({ readiness, tokens }: OperationsParts): readonly HttpRoute[] {
  return [
    { method: 'GET', path: '/healthz', run: (context) => sendJson(context, 200, '{"status":"ok"}') },
    {
      method: 'GET',
      path: '/readyz',
      async run(context) {
        if (await readiness.read()) sendJson(context, 200, '{"status":"ready"}');
        else sendJson(context, 503, '{"status":"not ready"}', RETRY_SOON);
      },
    },
    {
      method: 'GET',
      path: '/.well-known/jwks.json',
      run: (context) => sendJson(context, 200, JSON.stringify(tokens.publicJwks), CACHED_BRIEFLY),
    },
  ];
}
