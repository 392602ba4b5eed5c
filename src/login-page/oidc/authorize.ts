/** The authorization endpoint: checks the request of an application and redirects to the login page. */

import { isRegistered } from '../../domain/applications/redirect-uri.ts';
import { createAuthPageLink } from '../../domain/login/generate-auth-url.ts';
import {
  type AnswerTarget,
  type AuthorizationRequest,
  readAnswerTarget,
  readAuthorizationRequest,
} from '../../domain/oidc/authorization-request.ts';
import { beginAuthorization } from '../../domain/oidc/begin-authorization.ts';
import type { OidcClient } from '../../domain/oidc/oidc-clients.ts';
import { OidcError } from '../../domain/oidc/oidc-error.ts';
import { emailAddress } from '../../domain/validation.ts';
import { setEmailCookie } from '../browser-cookie.ts';
import { sendRedirect } from '../responses.ts';
import { continueSilently } from './continue-silently.ts';
import { AnsweredError, type OidcPageRequest, PageProblem, takeOidcPermits } from './oidc-page.ts';
import { sendAnswer } from './send-answer.ts';

/** @throws PageProblem until the application and its redirect URI are known, AnsweredError from then on */
export async function authorize(request: OidcPageRequest): Promise<void> {
  const { context, call, parameters, parts } = request;
  const { client, target } = await readClient(request);
  request.oidcCall.setApplication(client.id);
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
  const isClear = clientId !== undefined && redirectUri !== undefined;
  if (!isClear || parameters.hasRepeated(['client_id', 'redirect_uri'])) throw new PageProblem('unknown-client');
  const client = await parts.clients.find(clientId, oidcCall.deadline);
  if (!client || !isRegistered(redirectUri, client.redirectUris)) throw new PageProblem('unknown-client');
  return { client, target: { ...readAnswerTarget(parameters), redirectUri } };
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
