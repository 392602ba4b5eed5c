/** Lets pages of other origins call the API from a browser: https://fetch.spec.whatwg.org/#http-cors-protocol */
import { cors } from '@connectrpc/connect';
import { headerOf, send } from '../http/exchange.ts';
import type { HttpContext, PathHandler } from '../http/http-context.ts';
import { IDEMPOTENCY_HEADER } from './idempotency.ts';
import { routes } from './rest/routes.ts';

/** REST, RPCs, the OpenAPI documents and `jwks.json`, but not the login page, which uses cookies. */
const API_PATHS = /^\/(api\/.*|[\w.]+\.\w+\/\w+|\.well-known\/jwks\.json|(openapi|connect)\.json)$/;

/** How long browsers keep the answer to a preflight. */
export const PREFLIGHT_AGE = { 'access-control-max-age': '7200' } as const;

// X-Admin-Key is absent, because no browser should have an admin key.
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': [...new Set([...cors.allowedMethods, ...routes.map(({ method }) => method)])].join(),
  'access-control-allow-headers': [
    ...cors.allowedHeaders,
    'X-API-Key',
    IDEMPOTENCY_HEADER,
    'X-Request-Id',
    'Traceparent',
  ].join(),
  ...PREFLIGHT_AGE,
};
const EXPOSED_HEADERS = [...cors.exposedHeaders, 'X-Request-Id', 'Retry-After'].join();

/** Returns a handler that answers preflights of these origins, and lets them read the responses of later handlers. */
export function createCors(origins: readonly string[]): PathHandler[] {
  if (origins.length === 0) return [];
  const handle: PathHandler = async (context) => {
    const { response, path } = context;
    if (!API_PATHS.test(path)) return false;
    response.setHeader('vary', 'Origin');
    const origin = headerOf(context, 'origin');
    if (origin === undefined || !origins.includes(origin)) return false;
    response.setHeader('access-control-allow-origin', origin);
    if (isPreflight(context)) {
      send(context, 200, '', PREFLIGHT_HEADERS);
      return true;
    }
    response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
    return false;
  };
  return [handle];
}

export function isPreflight(context: HttpContext): boolean {
  return context.request.method === 'OPTIONS' && headerOf(context, 'access-control-request-method') !== undefined;
}
