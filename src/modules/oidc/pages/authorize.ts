/** The authorization endpoint: checks the request of an application and redirects to the login page. */

import { isRegistered } from '../../../domain/applications/redirect-uri.ts';
import { emailAddress } from '../../../domain/core/validation.ts';
import { createAuthPageLink } from '../../../domain/login/generate-auth-url.ts';
import { setEmailCookie } from '../../../login-page/browser-cookie.ts';
import { sendRedirect } from '../../../login-page/responses.ts';
import {
  type AnswerTarget,
  type AuthorizationRequest,
  readAnswerTarget,
  readAuthorizationRequest,
} from '../domain/authorization-request.ts';
import { beginAuthorization } from '../domain/begin-authorization.ts';
import type { OidcClient } from '../domain/oidc-clients.ts';
import { OidcError } from '../domain/oidc-error.ts';
import { continueSilently } from './continue-silently.ts';
import { AnsweredError, type OidcPageRequest, PageProblem, takeOidcPermits } from './oidc-page.ts';
import { sendAnswer } from './send-answer.ts';

/** In characters. Most redirect URIs have fewer than 100. */
const MAX_LOGGED = 300;

/** @throws PageProblem until the application and its redirect URI are known, AnsweredError from then on */
export async function authorize(request: OidcPageRequest): Promise<void> {
  const { context, call, parameters, parts } = request;
  const { client, target } = await readClient(request);
  try {
    const wanted = readAuthorizationRequest(parameters, client);
    const begin = () => {
      takeOidcPermits(request, parts.logins, countPermits(target, wanted));
      return beginAuthorization(call, client, target, wanted);
    };
    if (wanted.isSilent) {
      sendAnswer(request, target, { code: await continueSilently(request, client, wanted, begin) });
      return;
    }
    const loginIntentId = await begin();
    suggestEmail(request, loginIntentId, wanted);
    sendRedirect(context, createAuthPageLink(parts.authPageUrl)(loginIntentId, client.clientId));
  } catch (error) {
    if (!(error instanceof OidcError) || error instanceof PageProblem) throw error;
    sendAnswer(request, target, { error: error.reason, error_description: error.message });
    throw new AnsweredError(error);
  }
}

/** Returns the application and its redirect URI. An unregistered URI may be an attacker's, so nothing is sent there. */
async function readClient({
  oidcCall,
  parameters,
  parts,
}: OidcPageRequest): Promise<{ client: OidcClient; target: AnswerTarget & { redirectUri: string } }> {
  const clientId = parameters.get('client_id');
  const redirectUri = parameters.get('redirect_uri');
  if (clientId === undefined) throw problemWith('client_id is missing');
  if (parameters.hasRepeated(['client_id', 'redirect_uri'])) throw problemWith('client_id or redirect_uri comes twice');
  const client = await parts.clients.find(clientId, oidcCall.deadline);
  if (!client) throw problemWith('client_id is unknown, or its application has no OpenID Connect');
  oidcCall.setApplication(client.id);
  if (redirectUri === undefined) throw problemWith('redirect_uri is missing', 'unknown-redirect');
  if (!isRegistered(redirectUri, client.redirectUris, { isPublic: client.publicClient })) {
    throw problemWith(`redirect_uri is not registered: ${withoutSecrets(redirectUri)}`, 'unknown-redirect');
  }
  return { client, target: { ...readAnswerTarget(parameters), redirectUri } };
}

function problemWith(detail: string, page: 'unknown-client' | 'unknown-redirect' = 'unknown-client'): PageProblem {
  return new PageProblem(page, 'invalid_request', 400, detail);
}

/** Returns the URI for the log: cut, and without a password or the values of its query. */
function withoutSecrets(uri: string): string {
  const known = uri.replace(/\/\/[^/?#@]*@/, '//…@').replace(/=[^&#]*/g, '=…');
  return known.slice(0, MAX_LOGGED);
}

/** A login takes a permit for each KiB that it stores, begun or whole. Few logins need more than one. */
function countPermits({ state }: AnswerTarget, { nonce }: AuthorizationRequest): number {
  return 1 + Math.floor(Buffer.byteLength(state + (nonce ?? '')) / 1_024);
}

/** Stores the address of `login_hint`, which the login page fills in. */
function suggestEmail(
  { context, isSecure }: OidcPageRequest,
  loginIntentId: string,
  { loginHint }: AuthorizationRequest,
): void {
  if (loginHint === undefined) return;
  try {
    setEmailCookie(context, { isSecure }, loginIntentId, emailAddress(loginHint));
  } catch {
    // The hint is no e-mail address: ignore it.
  }
}
