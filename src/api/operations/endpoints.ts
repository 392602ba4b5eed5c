/**
 * Endpoints without a credential: home page, API reference, liveness, readiness, and the keys that verify auth tokens.
 */
import { readFile } from 'node:fs/promises';
import type { JWK } from 'jose';
import type { HttpContext, PathHandler } from '../../http/http-context.ts';
import { CACHED_BRIEFLY, RETRY_SOON, sendJson } from '../../http/response.ts';
import { sendFailure } from '../envelope.ts';
import { createTextEndpoint } from './generated-text.ts';
import type { Readiness } from './readiness.ts';
import { createReferenceEndpoints } from './reference-endpoints.ts';

const OPENAPI = new URL('../../../gen/openapi/', import.meta.url);

/** The paths that load balancers probe. */
export const PROBE_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

interface OperationsParts {
  /** Whether Usher serves an account page. */
  readonly hasAccountPage: boolean;
  readonly hasOidc: boolean;
  readonly readiness: Readiness;
  readonly tokens: { readonly issuer: string; readonly publicJwks: { readonly keys: readonly JWK[] } };
}

export function createOperationsEndpoints({
  hasAccountPage,
  hasOidc,
  readiness,
  tokens: { issuer, publicJwks },
}: OperationsParts): PathHandler {
  const jwks = JSON.stringify(publicJwks);
  const endpoints: Record<string, (context: HttpContext) => Promise<void> | void> = {
    '/healthz': (context) => sendJson(context, 200, '{"status":"ok"}'),
    '/readyz': async (context) => {
      if (await readiness.read()) sendJson(context, 200, '{"status":"ready"}');
      else sendJson(context, 503, '{"status":"not ready"}', RETRY_SOON);
    },
    // These pages load their modules at the first request, because most processes never get one.
    '/': createTextEndpoint(async () =>
      (await import('./home-page.ts')).renderHomePage({ hasAccount: hasAccountPage, hasDemo: false, hasOidc }),
    ),
    '/openapi.json': createDocumentEndpoint('rest.json'),
    '/connect.json': createDocumentEndpoint('connect.json'),
    '/.well-known/jwks.json': (context) => sendJson(context, 200, jwks, CACHED_BRIEFLY),
  };

  const findReferencePage = createReferenceEndpoints(issuer);
  return async (context) => {
    const answer = Object.hasOwn(endpoints, context.path)
      ? endpoints[context.path]
      : await findReferencePage(context.path);
    if (!answer) return false;
    const { method } = context.request;
    if (method === 'GET' || method === 'HEAD') await answer(context);
    else sendFailure(context, 'METHOD_NOT_ALLOWED', { allow: 'GET, HEAD' });
    return true;
  };
}

function createDocumentEndpoint(name: string) {
  return createTextEndpoint(async () => ({
    text: await readFile(new URL(name, OPENAPI), 'utf8'),
    headers: { 'content-type': 'application/json' },
  }));
}
