/** The edge for the OpenID Connect endpoints that applications call. `pages` has those for browsers. */
import { CACHED_BRIEFLY, send, sendJson } from '../../../http/exchange.ts';
import type { HttpContext, PathHandler } from '../../../http/http-context.ts';
import type { OidcError } from '../domain/oidc-error.ts';
import type { OidcProvider } from '../domain/tokens/provider.ts';
import { createDocuments } from './metadata.ts';
import { type OidcCall, type OidcCallParts, runOidcCall } from './oidc-call.ts';
import { answerPreflight } from './page-cors.ts';

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
  const documents = createDocuments(issuer, signingKeys.publicJwks, parts);
  const paths = Map.groupBy(endpoints, ({ path }) => path);
  return async (context) => {
    const method = context.request.method === 'HEAD' ? 'GET' : context.request.method;
    const document = documents.get(context.path);
    if (document !== undefined) {
      if (answerPreflight(context)) return true;
      if (method === 'GET') sendJson(context, 200, document, DOCUMENT_HEADERS);
      else refuseMethod(context, ['GET']);
      return true;
    }
    const ofPath = paths.get(context.path);
    if (!ofPath) return false;
    if (answerPreflight(context)) return true;
    const endpoint = ofPath.find((each) => each.method === method);
    if (endpoint) await serve(endpoint, context, parts);
    else
      refuseMethod(
        context,
        ofPath.map((each) => each.method),
      );
    return true;
  };
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

function refuseMethod(context: HttpContext, methods: readonly OidcEndpoint['method'][]): void {
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ');
  const body = { error: 'invalid_request', error_description: 'Method not allowed' };
  sendJson(context, 405, JSON.stringify(body), { allow });
}
