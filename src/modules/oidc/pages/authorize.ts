/** The authorization endpoint: checks the request of a client and redirects to the login page. */

import { ONE_FACTOR } from '../../../domain/core/assurance.ts';
import { emailAddress } from '../../../domain/core/validation.ts';
import { GROUPS_BIT } from '../../../domain/grants/scope.ts';
import { createAuthPageLink } from '../../../domain/login/generate-auth-url.ts';
import { setEmailCookie } from '../../../login-page/browser-cookie.ts';
import { sendRedirect } from '../../../login-page/responses.ts';
import {
  type AnswerTarget,
  type AuthorizationRequest,
  readAuthorizationRequest,
} from '../domain/authorization/authorization-request.ts';
import { beginAuthorization, FOR_ITSELF } from '../domain/authorization/begin-authorization.ts';
import { chooseScope } from '../domain/grants/narrow-scope.ts';
import { OidcError } from '../domain/oidc-error.ts';
import { type AskedApplication, type AskingClient, readAskedApplication, readClient } from './asking-client.ts';
import { continueSilently } from './continue-silently.ts';
import { AnsweredError, type OidcPageRequest, PageProblem, takeOidcPermits } from './oidc-page.ts';
import { sendAnswer } from './send-answer.ts';

/** @throws PageProblem until the client and its redirect URI are known, AnsweredError from then on */
export async function authorize(request: OidcPageRequest): Promise<void> {
  const { context, call, parts } = request;
  const client = await readClient(request);
  const { target } = client;
  try {
    const asked = await readAskedApplication(request, client);
    const wanted = readWanted(request, client, asked);
    const begin = () => {
      takeOidcPermits(request, parts.logins, countPermits(target, wanted));
      return beginAuthorization(call, asked.application, target, wanted);
    };
    if (wanted.isSilent) {
      sendAnswer(request, target, { code: await continueSilently(request, { ...client, ...asked }, wanted, begin) });
      return;
    }
    const loginIntentId = await begin();
    suggestEmail(request, loginIntentId, wanted);
    sendRedirect(context, createAuthPageLink(parts.authPageUrl)(loginIntentId, asked.application.clientId));
  } catch (error) {
    if (!(error instanceof OidcError) || error instanceof PageProblem) throw error;
    sendAnswer(request, target, { error: error.reason, error_description: error.message });
    throw new AnsweredError(error);
  }
}

/** Returns the request with what it asks of a resource. The groups of users are for clients that operators know. */
function readWanted({ parameters }: OidcPageRequest, client: AskingClient, { resource }: AskedApplication) {
  const wanted = readAuthorizationRequest(parameters, client);
  const allowed = client.registered ? undefined : ~GROUPS_BIT;
  const { scope, names } = chooseScope(parameters.get('scope'), resource?.resourceScopes ?? [], allowed);
  if (!resource) return { ...wanted, scope, ...FOR_ITSELF };
  return {
    ...wanted,
    // The rules of both count: a sign-in for the tokens of the resource is also one to the client.
    requiredAssurance: Math.max(wanted.requiredAssurance, client.registered?.requiredAssurance ?? ONE_FACTOR),
    scope,
    forClient: client.clientId,
    clientName: client.clientName,
    scopeNames: names,
  };
}

/** A login takes a permit for each KiB that it stores, begun or whole. Few logins need more than one. */
function countPermits({ state }: AnswerTarget, { nonce }: AuthorizationRequest): number {
  return 1 + Math.floor(Buffer.byteLength(state + (nonce ?? '')) / 1_024);
}

/** Stores the address of `login_hint`, which the login page fills in. */
function suggestEmail(
  { context, isSecure }: OidcPageRequest,
  loginIntentId: string,
  { loginHint }: Pick<AuthorizationRequest, 'loginHint'>,
): void {
  if (loginHint === undefined) return;
  try {
    setEmailCookie(context, { isSecure }, loginIntentId, emailAddress(loginHint));
  } catch {
    // The hint is no e-mail address: ignore it.
  }
}
