/** The logout endpoint: OpenID Connect RP-Initiated Logout 1.0. */
import { addToQuery } from '../../domain/applications/redirect-uri.ts';
import { findApplicationOfClient } from '../../domain/login/find-login-application.ts';
import { endGrantsOfBrowser } from '../../domain/oidc/end-grants.ts';
import { type IdTokenHint, readIdTokenHint } from '../../domain/oidc/id-token-hint.ts';
import type { OidcClient } from '../../domain/oidc/oidc-clients.ts';
import { revokeUserSessions } from '../../domain/sessions/revoke-user-sessions.ts';
import { loginPathOf } from '../login-request.ts';
import { toPageApplication } from '../page-application.ts';
import { forgetHere } from '../remembered-sign-in.ts';
import { sendErrorPage, sendRedirect } from '../responses.ts';
import { type OidcPageRequest, PageProblem, takeOidcPermits } from './oidc-page.ts';

/** The parameters that a request may have only once. */
const SINGLE = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'];
/** The query parameter that shows the page after a logout again, in another language. */
const DONE = 'done';

/** @throws PageProblem without a valid ID token. Any site can send a browser here, so nothing ends without one. */
export async function logOut(request: OidcPageRequest): Promise<void> {
  const { context, call, parameters, parts, isSecure } = request;
  if (parameters.get(DONE) !== undefined) return showSignedOut(request, parameters.get('client_id') ?? '');
  const { hint, client } = await readLogin(request);
  request.oidcCall.setApplication(client.id);
  await forgetHere({ context, call, browser: { isSecure } }, hint.userId);
  await endLogin(request, client, hint);
  await parts.onSignedOut(hint.userId);
  const uri = parameters.get('post_logout_redirect_uri');
  if (uri === undefined || !client.postLogoutRedirectUris.includes(uri)) return showSignedOut(request, client.clientId);
  const state = parameters.get('state');
  sendRedirect(context, state === undefined ? uri : addToQuery(uri, { state }));
}

/** Returns the user, browser and application of the ID token. @throws PageProblem if it is older than a login can be */
async function readLogin(request: OidcPageRequest) {
  const { call, oidcCall, parameters, parts } = request;
  const token = parameters.get('id_token_hint');
  if (token === undefined || parameters.hasRepeated(SINGLE)) throw new PageProblem('not-signed-out');
  takeOidcPermits(request, parts.logouts);
  const hint = readIdTokenHint(parts.oidc.signingKeys, parts.tokens.issuer, token);
  if (!hint) throw new PageProblem('not-signed-out');
  const client = await parts.clients.find(hint.clientId, oidcCall.deadline);
  const maxAgeMs = (client?.sessionMaxAgeSeconds ?? parts.sessionMaxAgeSeconds) * 1_000;
  const isOther = (parameters.get('client_id') ?? hint.clientId) !== hint.clientId;
  if (!client || isOther || hint.issuedAt.getTime() + maxAgeMs < call.now.getTime())
    throw new PageProblem('not-signed-out');
  return { hint, client };
}

/** Ends the login at the application in the browser that the ID token names, or in all browsers if it names none. */
async function endLogin({ call }: OidcPageRequest, client: OidcClient, { userId, sid }: IdTokenHint): Promise<void> {
  if (sid !== undefined) await endGrantsOfBrowser(call, { applicationId: client.id, userId, sid });
  else await revokeUserSessions({ ...call, application: { ...client, name: '' } }, { userId });
}

async function showSignedOut(
  { call, context, languages, parameters, parts, place }: OidcPageRequest,
  clientId: string,
) {
  const found = await findApplicationOfClient(call, clientId);
  const language = languages.languageFor(parameters.get('ui_locales'));
  const application = found && toPageApplication(found, language, loginPathOf(parts));
  const query = [[DONE, '1'] as const, ['client_id', clientId] as const];
  sendErrorPage(context, 'signed-out', { language, place: { path: place.path, query }, application });
}
