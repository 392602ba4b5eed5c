/** The logout endpoint: OpenID Connect RP-Initiated Logout 1.0. */
import { addToQuery, isRegistered } from '../../../domain/applications/redirect-uri.ts';
import { endGrantsOfBrowser, endGrantsOfClient, findResourcesOfLogin } from '../../../domain/grants/end-grants.ts';
import { findApplicationOfClient } from '../../../domain/login/find-login-application.ts';
import { revokeUserSessions } from '../../../domain/sessions/revoke-user-sessions.ts';
import { sidOf } from '../../../domain/sessions/sid.ts';
import { html } from '../../../http/html.ts';
import { type IdentifiedBrowser, identifyKnownBrowser, isOwnForm } from '../../../login-page/browser/browser-cookie.ts';
import { keepParameters, type PageQuery, renderQuery } from '../../../login-page/browser/language-choice.ts';
import { findSignedInHere, signOutHere, signUserOutHere } from '../../../login-page/offer/browser-sign-ins.ts';
import { loginPathOf } from '../../../login-page/offer/login-request.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { toPageApplication } from '../../../login-page/pages/page-application.ts';
import { renderFooter, renderHeading, renderMark } from '../../../login-page/pages/parts.ts';
import { sendErrorPage, sendPage, sendRedirect } from '../../../login-page/pages/responses.ts';
import type { PageView } from '../../../login-page/pages/view.ts';
import { isClientUrl } from '../clients/client-url.ts';
import type { OidcClient } from '../clients/oidc-clients.ts';
import { endLoginsOfBrowser } from '../domain/authorization/end-logins-of-browser.ts';
import { type IdTokenHint, readIdTokenHint } from '../domain/authorization/id-token-hint.ts';
import { type OidcPageRequest, takeOidcPermits } from './oidc-page.ts';

/** The parameters that a request may have only once. */
const SINGLE_AT_LOGOUT = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'];

/** The application that has sent the browser to the logout endpoint. */
interface NamedLogin {
  readonly clientId: string;
  /** Undefined for a client that nobody has registered. */
  readonly client: OidcClient | undefined;
  /** Undefined if the application has sent its client ID alone, or what is no ID token of Usher. */
  readonly hint: IdTokenHint | undefined;
  /** Whether the login of the ID token may still last. */
  readonly isRecent: boolean;
}

/**
 * Returns undefined if the request names no application, or names two.
 *
 * @throws PageProblem if the network has no permits: to check a signature takes CPU time
 */
async function readNamedLogin(request: OidcPageRequest): Promise<NamedLogin | undefined> {
  const { call, oidcCall, parameters, parts } = request;
  const token = parameters.get('id_token_hint');
  const clientId = parameters.get('client_id');
  if ((token === undefined && clientId === undefined) || parameters.hasRepeated(SINGLE_AT_LOGOUT)) return undefined;
  takeOidcPermits(request, parts.logouts);
  const hint = token === undefined ? undefined : readIdTokenHint(parts.oidc.signingKeys, parts.tokens.issuer, token);
  const named = hint?.clientId ?? clientId ?? '';
  if (clientId !== undefined && clientId !== named) return undefined;
  const client = await parts.clients.find(named);
  if (!client && !isClientUrl(named)) return undefined;
  if (client) oidcCall.setApplication(client.id);
  const maxAgeMs = (client?.sessionMaxAgeSeconds ?? parts.sessionMaxAgeSeconds) * 1_000;
  const isRecent = hint !== undefined && hint.issuedAt.getTime() + maxAgeMs >= call.now.getTime();
  return { clientId: named, client, hint, isRecent };
}

/** The query parameter that shows the page after a logout again, in another language. */
const DONE = 'done';
export const LOGOUT_PARAMETERS = [DONE, 'ui_locales', ...SINGLE_AT_LOGOUT];
/** In characters. Proxies accept a request line of 8 KiB. */
const MAX_QUERY = 6_000;

/**
 * Signs out whom the ID token names. Any site can send a browser here: without a token of this browser, or a recent one,
 * nothing ends before the person has agreed. Then the browser returns to the application.
 *
 * @throws PageProblem if the network has no permits
 */
export async function logOut(request: OidcPageRequest): Promise<void> {
  const { context, call, parameters, parts, isSecure } = request;
  if (parameters.get(DONE) !== undefined) return showSignedOut(request, parameters.get('client_id'));
  const browser = identifyKnownBrowser(context, isSecure);
  const repeated = browser ? undefined : urlToRepeat(request);
  if (repeated !== undefined) return sendRedirect(context, repeated);
  const login = await readNamedLogin(request);
  const own = browser && { context, call, browser, parts };
  const here = own && { ...own, users: await findSignedInHere(own) };
  if (login?.hint) {
    const { hint } = login;
    const resources = await findResources(request, login.clientId, hint);
    const applicationIds = login.client ? [login.client.id, ...resources] : resources;
    const isHere = applicationIds.some((id) => isOf(browser, id, hint));
    if (isHere || login.isRecent) {
      if (here && (isHere || here.users.includes(hint.userId))) await signUserOutHere(here, hint.userId);
      await endLogin(request, login, hint, resources);
      return leadBack(request, login);
    }
  }
  if (!here || here.users.length === 0) return leadBack(request, login, { isEnded: login?.hint !== undefined });
  if (!isOwnForm(here.browser, parameters.get('token') ?? '')) return ask(request, here.browser, login);
  await signOutHere(here);
  for (const userId of here.users) {
    await endLoginsOfBrowser(call, { userId, browserDigest: here.browser.digest });
    parts.onSignedOut(userId);
  }
  await leadBack(request, login);
}

/**
 * Returns the address that brings a browser here again, with its cookies: the form of another site comes without the
 * cookies, which are `SameSite=Lax`. Returns undefined if the form is too long for an address, which is answered at once.
 */
function urlToRepeat({ context, form, place }: OidcPageRequest): string | undefined {
  const given = [...new URLSearchParams(form)].filter(([name]) => LOGOUT_PARAMETERS.includes(name));
  const query = new URLSearchParams(given).toString();
  const isRepeated = context.request.method === 'POST' && query.length <= MAX_QUERY;
  return isRepeated ? `${place.path}?${query}` : undefined;
}

/** Returns the resources to which the user of the ID token has signed in for this client. */
async function findResources(
  { call }: OidcPageRequest,
  clientId: string,
  { sid, userId }: IdTokenHint,
): Promise<readonly string[]> {
  return sid === undefined ? [] : findResourcesOfLogin(call, { clientId, userId, sid });
}

/** Returns whether the ID token comes from a sign-in to the application in this browser. */
function isOf(browser: IdentifiedBrowser | undefined, applicationId: string, { sid, userId }: IdTokenHint): boolean {
  return browser !== undefined && sid === sidOf(applicationId, userId, browser.digest);
}

/**
 * Ends the login at the application, or that of the client at its resources, in the browser that the ID token names, or
 * in all browsers if it names none.
 */
async function endLogin(
  { call, parts }: OidcPageRequest,
  { client, clientId }: NamedLogin,
  { userId, sid }: IdTokenHint,
  resources: readonly string[],
): Promise<void> {
  for (const applicationId of resources) await endGrantsOfClient(call, { applicationId, clientId, userId, sid });
  if (client) {
    if (sid === undefined) await revokeUserSessions({ ...call, application: { ...client, name: '' } }, { userId });
    else if (resources.length === 0) await endGrantsOfBrowser(call, { applicationId: client.id, userId, sid });
  }
  parts.onSignedOut(userId);
}

async function ask(request: OidcPageRequest, { formToken }: IdentifiedBrowser, login: NamedLogin | undefined) {
  const { languages, parameters, context, form, place } = request;
  const language = languages.languageFor(parameters.get('ui_locales'));
  const application = await findApplication(request, login?.client?.clientId);
  // The choice of a language has the parameters once more.
  const twice = { ...place, query: keepParameters(form, LOGOUT_PARAMETERS, 2) };
  sendPage(context, 200, renderLogOut({ language, application, place: twice, query: place.query, formToken }));
}

/** @param isEnded whether the login is known to have ended */
async function leadBack(request: OidcPageRequest, login: NamedLogin | undefined, { isEnded = true } = {}) {
  const { context, languages, parameters, place } = request;
  const uri = parameters.get('post_logout_redirect_uri') ?? '';
  const state = parameters.get('state');
  const { postLogoutRedirectUris = [], publicClient: isPublic = false } = login?.client ?? {};
  if (isRegistered(uri, postLogoutRedirectUris, { isPublic })) {
    return sendRedirect(context, state === undefined ? uri : addToQuery(uri, { state }));
  }
  const clientId = login?.client?.clientId;
  if (isEnded) return showSignedOut(request, clientId);
  const language = languages.languageFor(parameters.get('ui_locales'));
  const application = await findApplication(request, clientId);
  sendErrorPage(context, 'not-signed-out', { language, place, application });
}

async function showSignedOut(request: OidcPageRequest, clientId = '') {
  const { context, languages, parameters, place } = request;
  const language = languages.languageFor(parameters.get('ui_locales'));
  const application = await findApplication(request, clientId);
  const known = application ? [['client_id', clientId] as const] : [];
  const query = [[DONE, '1'] as const, ...known];
  sendErrorPage(context, 'signed-out', { language, place: { path: place.path, query }, application });
}

async function findApplication({ call, languages, parameters, parts }: OidcPageRequest, clientId = '') {
  const found = clientId === '' ? undefined : await findApplicationOfClient(call, clientId);
  return found && toPageApplication(found, languages.languageFor(parameters.get('ui_locales')), loginPathOf(parts));
}

interface LogOutView extends PageView {
  readonly formToken: string;
  /** What the logout needs again. */
  readonly query: PageQuery | undefined;
}

/** Renders the question whether the person wants to sign out, because any site can send a browser to the logout. */
export function renderLogOut(view: LogOutView): PageContent {
  const { language, application, place, formToken, query } = view;
  const title = language.text('oidc.logOut.title');
  const site = application?.site;
  const back = site && language.html('error.back', { application: application.name });
  return {
    language,
    application,
    title,
    body: html`${application && renderMark({ application, applicationName: application.name })}
${renderHeading(html`${title}`, html`<p>${language.text('oidc.logOut.text')}</p>`)}
<form class="ways" method="post" action="${place.path}">
${renderQuery(query)}<input type="hidden" name="token" value="${formToken}"><button>${language.text('account.signOut')}</button>
${site && html`<a class="button second" href="${site.origin}">${back}</a>\n`}</form>`,
    footer: renderFooter(view),
  };
}
