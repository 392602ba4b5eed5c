/** The edge for the OpenID Connect endpoints that applications call. `pages` has those for browsers. */

import { isPreflight, PREFLIGHT_AGE } from '../../../api/cors.ts';
import { CACHED_BRIEFLY, headerOf, send, sendJson } from '../../../http/exchange.ts';
import type { HttpContext, PathHandler } from '../../../http/http-context.ts';
import { serveRoutes } from '../../../http/route-table.ts';
import { isOriginOf } from '../clients/oidc-clients.ts';
import type { OidcError } from '../domain/oidc-error.ts';
import type { OidcProvider } from '../domain/tokens/provider.ts';
import { createDocuments } from './metadata.ts';
import { type OidcCall, type OidcCallParts, runOidcCall } from './oidc-call.ts';

export interface OidcAnswer {
  readonly status?: number;
  /** Undefined: the response has no body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OidcEndpoint {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** @throws OidcError */
  run(call: OidcCall): Promise<OidcAnswer>;
}

/** Metadata and keys change rarely, and pages of every origin may read them. */
const DOCUMENT_HEADERS = { ...CACHED_BRIEFLY, 'access-control-allow-origin': '*' };

/** Returns a handler of the documents and the endpoints. It answers in the form of RFC 6749, not in the envelope. */
export function createOidcEdge(
  { signingKeys }: OidcProvider,
  issuer: string,
  endpoints: readonly OidcEndpoint[],
  parts: OidcCallParts & { readonly takesClientUrls: boolean },
): PathHandler {
  const documents = [...createDocuments(issuer, signingKeys, parts)].map(([path, write]) => ({
    method: 'GET',
    path,
    run: (context: HttpContext) => sendJson(context, 200, write(), DOCUMENT_HEADERS),
  }));
  const called = endpoints.map((endpoint) => ({
    ...endpoint,
    run: (context: HttpContext) => serve(endpoint, context, parts),
  }));
  return serveRoutes([...documents, ...called], (context, allow) => {
    const origin = headerOf(context, 'origin');
    if (isPreflight(context) && origin !== undefined) return sendPreflight(context, origin);
    const body = { error: 'invalid_request', error_description: 'Method not allowed' };
    sendJson(context, 405, JSON.stringify(body), { allow });
  });
}

async function serve(endpoint: OidcEndpoint, context: HttpContext, parts: OidcCallParts): Promise<void> {
  const work = async (call: OidcCall) => {
    const { status = 200, body, headers = {} } = await endpoint.run(call);
    if (body === undefined) send(context, status, '', headers);
    else sendJson(context, status, JSON.stringify(body), headers);
  };
  await runOidcCall(parts, context, endpoint, work, (error) => sendOidcError(context, error));
}

/** Sends the error in the form of RFC 6749, section 5.2. */
function sendOidcError(context: HttpContext, { reason, message, status, headers }: OidcError): void {
  sendJson(context, status, JSON.stringify({ error: reason, error_description: message }), headers);
}

/** CORS for the pages of public clients: https://fetch.spec.whatwg.org/#http-cors-protocol */
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, POST',
  // The asterisk means every header but this one: pages and libraries add their own.
  'access-control-allow-headers': '*, Authorization',
  ...PREFLIGHT_AGE,
};

export const EXPOSED_HEADERS = 'WWW-Authenticate, X-Request-Id, Retry-After';

/** Lets the page that sent the request read the answer, if its origin is that of a redirect URI of the client. */
export function allowPage(context: HttpContext, redirectUris: readonly string[]): void {
  const origin = headerOf(context, 'origin');
  if (isOriginOf(origin, redirectUris)) allowOrigin(context, origin);
}

/** Lets any page read the answer to a client that has no application, and so no redirect URIs to compare with. */
export function allowAnyPage(context: HttpContext): void {
  const origin = headerOf(context, 'origin');
  if (origin !== undefined) allowOrigin(context, origin);
}

function allowOrigin({ response }: HttpContext, origin: string): void {
  response.setHeader('vary', 'Origin');
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
}

/**
 * Answers a preflight. It names no client, so it allows every origin. This is safe: `allowPage` decides who may read the
 * answer itself, and the endpoints use no cookies.
 */
function sendPreflight(context: HttpContext, origin: string): void {
  send(context, 204, '', { ...PREFLIGHT_HEADERS, 'access-control-allow-origin': origin, vary: 'Origin' });
}
