/** The page that asks whether a client that nobody has registered may act for the person who has signed in. */

import { hasScope } from '../../../domain/grants/scope.ts';
import { isSignInLive } from '../../../domain/login/find-login-state.ts';
import { IMPERSONATION } from '../../../domain/tokens/verify-token.ts';
import { toUuid } from '../../../encoding/uuid-bytes.ts';
import { html } from '../../../http/html.ts';
import {
  bindAnswer,
  identifyBrowser,
  isOwnForm,
  type KnownBrowser,
} from '../../../login-page/browser/browser-cookie.ts';
import { renderQuery } from '../../../login-page/browser/language-choice.ts';
import { loginPathOf } from '../../../login-page/offer/login-request.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { toPageApplication } from '../../../login-page/pages/page-application.ts';
import { renderFooter, renderHeading, renderMark } from '../../../login-page/pages/parts.ts';
import { sendPage } from '../../../login-page/pages/responses.ts';
import type { PageView } from '../../../login-page/pages/view.ts';
import { isolate, renderAddress } from '../../../texts/isolate.ts';
import { awaitsConsent, codeOf, isCodeLive } from '../domain/authorization/authorization-answer.ts';
import {
  type AskedConsent,
  type AskingIntent,
  allowAgain,
  allowClient,
  denyClient,
  findAskedConsent,
  findAskingIntent,
  isRememberable,
  isRemembered,
} from '../domain/authorization/consent.ts';
import { openBytes } from '../domain/tokens/sealed-bytes.ts';
import { type OidcPageRequest, PageProblem } from './oidc-page.ts';
import { sendAnswer } from './send-answer.ts';

/**
 * Asks, or sends the answer of the form, or that of a consent that is remembered.
 *
 * @throws PageProblem
 */
export async function askForConsent(request: OidcPageRequest): Promise<void> {
  const { context, call, isSecure, parameters } = request;
  const browser = bindAnswer(context, identifyBrowser(context, isSecure));
  const intent = await findIntent(request, browser);
  const isAnswer = context.request.method === 'POST';
  if (isAnswer && !isOwnForm(browser, parameters.get('token') ?? ''))
    throw new PageProblem('stale-form', 'access_denied');
  // Whoever signs in on behalf of a user must not let others act for that user.
  if (intent.method === IMPERSONATION || (isAnswer && parameters.get('choice') !== 'allow')) {
    await denyClient(call, intent);
    return sendAnswer(request, intent, { error: 'access_denied' });
  }
  if (!awaitsConsent(intent, call.now)) return sendCode(request, browser);
  const asked = await findAskedConsent(call, intent);
  const wasGiven = !isAnswer && (await isRemembered(call, intent, asked));
  if (!isAnswer && !wasGiven) return ask(request, browser, intent, asked);
  if (wasGiven) await allowAgain(call, intent);
  else await allowClient(call, request.parts.oidc.tokenKeys, intent, asked, context.clientAddress);
  await sendCode(request, browser);
}

/** Also answers a second click, and a browser that goes back. */
async function sendCode(request: OidcPageRequest, browser: KnownBrowser): Promise<void> {
  const { call, parts } = request;
  const intent = await findIntent(request, browser);
  if (!isCodeLive(intent, call.now)) throw new PageProblem(intent.expiresAt <= call.now ? 'expired' : 'completed');
  sendAnswer(request, intent, { code: codeOf(parts.oidc.tokenKeys.code, { ...intent, loginIntentId: intent.id }) });
}

/** Returns the completed login that the sealed link names, if this browser may have completed it and it has not ended. */
async function findIntent({ call, oidcCall, parameters, parts }: OidcPageRequest, browser: KnownBrowser) {
  const bytes = openBytes(parts.oidc.tokenKeys.consent, parameters.get('login') ?? '');
  const intent = bytes && (await findAskingIntent(call, toUuid(bytes)));
  if (!intent) throw new PageProblem('unknown');
  oidcCall.setApplication(intent.applicationId);
  // Another page than Usher's has no such browser. Then the link alone shows who has signed in, as a code would.
  if (intent.browserDigest?.equals(browser.digest) === false) throw new PageProblem('unknown');
  if (!(await isSignInLive(call, browser, intent))) throw new PageProblem('completed');
  return intent;
}

async function ask(
  request: OidcPageRequest,
  { formToken }: KnownBrowser,
  intent: AskingIntent,
  asked: AskedConsent,
): Promise<void> {
  const { context, languages, parameters, parts, place } = request;
  const language = languages.languageFor(intent.locale);
  const wanted = (asked.scopeNames ?? []).map(
    (name) => asked.resourceScopes.find((scope) => scope.name === name)?.description ?? name,
  );
  const { hostname: clientHost } = new URL(intent.forClient);
  const { host: returnHost } = new URL(intent.redirectUri);
  sendPage(
    context,
    200,
    renderConsent({
      language,
      application: toPageApplication(intent, language, loginPathOf(parts)),
      place: { ...place, query: [['login', parameters.get('login') ?? '']] },
      formToken,
      clientName: intent.clientName,
      clientHost,
      returnHost: isRememberable(intent) ? returnHost : undefined,
      email: asked.email,
      scope: asked.scope,
      wanted,
    }),
  );
}

export interface ConsentView extends PageView {
  readonly application: NonNullable<PageView['application']>;
  readonly formToken: string;
  readonly clientName: string;
  /** The host of the client's metadata, which vouches for its name. */
  readonly clientHost: string;
  /** Undefined if the client is a program on the person's computer, which any other program can pretend to be. */
  readonly returnHost: string | undefined;
  readonly email: string;
  /** Bits, as in `scope.ts`. */
  readonly scope: number;
  /** What the resource says of the scopes. */
  readonly wanted: readonly string[];
}

/** Renders the question. It loads nothing of the client, which could else learn of the person before the answer. */
export function renderConsent(view: ConsentView): PageContent {
  const { language, application, place, formToken, returnHost, email, scope, wanted } = view;
  const client = html`<strong>${isolate(view.clientName)}</strong>`;
  const host = html`<strong><bdi dir="ltr">${view.clientHost}</bdi></strong>`;
  const resource = html`<strong>${isolate(application.name)}</strong>`;
  const title = language.text('oidc.consent.title');
  const text = language.html('oidc.consent.text', { client, host, resource, email: renderAddress(email) });
  const scopes = [
    ...wanted.map((description) => isolate(description)),
    ...(hasScope(scope, 'profile') ? [language.text('oidc.consent.profile')] : []),
    ...(hasScope(scope, 'email') ? [language.text('oidc.consent.email')] : []),
  ];
  const back =
    returnHost === undefined ? language.text('oidc.consent.returnHere') : html`<bdi dir="ltr">${returnHost}</bdi>`;
  return {
    language,
    application,
    title,
    body: html`${renderMark({ application, applicationName: application.name })}
${renderHeading(html`${title}`, html`<p>${text}</p>`)}
${scopes.length > 0 && html`<div><p>${language.text('oidc.consent.scopes')}</p><ul>${scopes.map((each) => html`<li>${each}</li>`)}</ul></div>\n`}<p>${language.html('oidc.consent.return', { host: html`<strong>${back}</strong>` })}</p>
${returnHost === undefined && html`<p class="alert warn">${language.html('oidc.consent.warning', { client })}</p>\n`}<form class="ways" method="post" action="${place.path}">
${renderQuery(place.query)}<input type="hidden" name="token" value="${formToken}"><button name="choice" value="allow">${language.text('oidc.consent.allow')}</button>
<button class="second" name="choice" value="deny">${language.text('oidc.consent.deny')}</button>
</form>`,
    footer: renderFooter(view),
  };
}
