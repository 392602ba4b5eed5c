/** The authorization endpoint: checks the request of a client and redirects to the login page. */

import { isRegistered } from '../../../domain/applications/redirect-uri.ts';
import { ONE_FACTOR } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { emailAddress } from '../../../domain/core/validation.ts';
import { GROUPS_BIT } from '../../../domain/grants/scope.ts';
import { createAuthPageLink } from '../../../domain/login/generate-auth-url.ts';
import { bindAnswer, identifyBrowser, setEmailCookie } from '../../../login-page/browser/browser-cookie.ts';
import { sendRedirect } from '../../../login-page/pages/responses.ts';
import { describeRefusal, isClientUrl, toLogged } from '../clients/client-url.ts';
import type { OidcClient } from '../clients/oidc-clients.ts';
import type { Resource } from '../clients/resources.ts';
import {
  type AnswerTarget,
  type AuthorizationRequest,
  readAnswerTarget,
  readAuthorizationRequest,
} from '../domain/authorization/authorization-request.ts';
import { beginAuthorization, FOR_ITSELF } from '../domain/authorization/begin-authorization.ts';
import { allowAgain, findAskedConsent, findAskingIntent, isRemembered } from '../domain/authorization/consent.ts';
import { readIdTokenHint } from '../domain/authorization/id-token-hint.ts';
import { resourceOfMetadataClient, resourceOfRegistered } from '../domain/grants/choose-resource.ts';
import { chooseScope } from '../domain/grants/narrow-scope.ts';
import { OidcError } from '../domain/oidc-error.ts';
import { createCode } from '../domain/tokens/code.ts';
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
  // Equivalent: guard: what is missing is no e-mail address
  if (loginHint === undefined) return;
  try {
    setEmailCookie(context, { isSecure }, loginIntentId, emailAddress(loginHint));
  } catch {
    // The hint is no e-mail address: ignore it.
  }
}

/**
 * Completes a login by the remembered sign-in without a page, for `prompt=none`, and returns its authorization code.
 *
 * @param begin creates the login intent, if the network has permits
 * @throws OidcError `login_required`; `consent_required`; `access_denied` if the user may not enter the application; PageProblem
 */
async function continueSilently(
  request: OidcPageRequest,
  { clientId, clientName, application, resource }: AskingClient & AskedApplication,
  { idTokenHint }: Pick<AuthorizationRequest, 'idTokenHint'>,
  begin: () => Promise<string>,
): Promise<string> {
  const { call, context, isSecure, parts } = request;
  const { oidc, tokens } = parts;
  const signIns = application.singleSignOn ? parts.rememberedSignIns : undefined;
  if (!signIns?.hasCookie(context, { isSecure })) throw new OidcError('login_required');
  const hint = idTokenHint === undefined ? undefined : readIdTokenHint(oidc.signingKeys, tokens.issuer, idTokenHint);
  const isOther = idTokenHint !== undefined && hint?.clientId !== clientId;
  if (isOther) throw new OidcError('login_required');
  const loginIntentId = await begin();
  const browser = bindAnswer(context, identifyBrowser(context, isSecure));
  try {
    await signIns.complete({ context, call, browser }, tokens, { loginIntentId, userId: hint?.userId ?? null });
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new OidcError(error.reason === 'ACCESS_NOT_ALLOWED' ? 'access_denied' : 'login_required');
  }
  if (clientName !== null) await consentSilently(call, loginIntentId);
  return createCode(oidc.tokenKeys.code, loginIntentId, resource?.id);
}

/** @throws OidcError `consent_required` unless the user has consented before */
async function consentSilently(call: Call, loginIntentId: string): Promise<void> {
  const asked = await findAskedConsent(call, { id: loginIntentId });
  const intent = await findAskingIntent(call, loginIntentId);
  // Equivalent: guard: the login was completed for such a client just now
  if (!intent) throw new OidcError('consent_required');
  if (!(await isRemembered(call, intent, asked))) throw new OidcError('consent_required');
  await allowAgain(call, intent);
}

/** The client of an authorization request, its redirect URI, and the application whose login it begins. */
interface AskingClient {
  readonly target: AnswerTarget & { readonly redirectUri: string };
  readonly clientId: string;
  readonly requirePkce: boolean;
  /** Undefined for a client that nobody has registered. */
  readonly registered: OidcClient | undefined;
  /** The name in its metadata. Null for a registered client. */
  readonly clientName: string | null;
}

/** The application whose users sign in, and the client, if that is another. */
interface AskedApplication {
  readonly application: Pick<OidcClient, 'id' | 'clientId' | 'singleSignOn'>;
  readonly resource: Resource | undefined;
}

/**
 * Returns the client and its redirect URI. An unknown URI may be an attacker's, so nothing is sent there.
 *
 * @throws PageProblem
 */
async function readClient(request: OidcPageRequest): Promise<AskingClient> {
  const { parameters } = request;
  const clientId = parameters.get('client_id');
  const redirectUri = parameters.get('redirect_uri');
  if (clientId === undefined) throw problemWith('client_id is missing');
  if (parameters.hasRepeated(['client_id', 'redirect_uri'])) throw problemWith('client_id or redirect_uri comes twice');
  const client = isClientUrl(clientId)
    ? await readMetadataClient(request, clientId)
    : await readRegisteredClient(request, clientId);
  if (redirectUri === undefined) throw problemWith('redirect_uri is missing', 'unknown-redirect');
  const { isPublic, redirectUris, ...known } = client;
  if (!isRegistered(redirectUri, redirectUris, { isPublic })) {
    const place = client.registered ? 'not registered' : 'none of those that are usable in the client’s metadata';
    throw problemWith(`redirect_uri is ${place}: ${toLogged(redirectUri)}`, 'unknown-redirect');
  }
  return { ...known, clientId, target: { ...readAnswerTarget(parameters), redirectUri } };
}

async function readRegisteredClient({ oidcCall, parts }: OidcPageRequest, clientId: string) {
  const registered = await parts.clients.find(clientId);
  if (!registered) throw problemWith('client_id is unknown, or its application has no OpenID Connect');
  oidcCall.setApplication(registered.id);
  const { requirePkce, redirectUris, publicClient: isPublic } = registered;
  return { registered, clientName: null, requirePkce, redirectUris, isPublic };
}

/** Anybody can name a URL, so each fetch of one takes a permit of the network. */
async function readMetadataClient(request: OidcPageRequest, clientId: string) {
  const { context, call, parts } = request;
  const address = context.clientAddress;
  const mayFetch = () => parts.logins.take(address, call.now);
  const found = await parts.documents.find(clientId, { address, mayFetch });
  if ('problem' in found) {
    const { problem, cause } = found;
    const detail = describeRefusal(clientId, cause);
    if (problem === 'unknown') throw problemWith(detail);
    if (problem === 'too-many') throw new PageProblem('too-many', 'temporarily_unavailable', undefined, detail);
    throw new PageProblem('client-unavailable', 'invalid_request', undefined, detail);
  }
  const { name: clientName, redirectUris } = found.document;
  return { registered: undefined, clientName, requirePkce: true, redirectUris, isPublic: true };
}

/**
 * Returns the application for which the client asks: itself, or a resource.
 *
 * @throws OidcError `invalid_target` for a resource that is not known, or not open to the client
 */
async function readAskedApplication(
  { oidcCall, parameters, parts }: OidcPageRequest,
  { clientId, registered }: AskingClient,
): Promise<AskedApplication> {
  const uri = parameters.get('resource');
  if (parameters.hasRepeated(['resource'])) throw new OidcError('invalid_target');
  if (!registered) {
    const resource = await resourceOfMetadataClient(parts.resources, uri);
    oidcCall.setApplication(resource.id);
    return { application: resource, resource };
  }
  const resource = await resourceOfRegistered(parts.resources, { uri, id: undefined }, clientId);
  return { application: resource ?? registered, resource };
}

function problemWith(detail: string, page: 'unknown-client' | 'unknown-redirect' = 'unknown-client'): PageProblem {
  return new PageProblem(page, 'invalid_request', 400, detail);
}
