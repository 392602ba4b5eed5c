/** The page that asks whether a client that nobody has registered may act for the person who has signed in. */

import { isSignInLive } from '../../../domain/login/find-login-state.ts';
import { IMPERSONATION } from '../../../domain/tokens/verify-token.ts';
import { toUuid } from '../../../encoding/uuid-bytes.ts';
import { bindAnswer } from '../../../login-page/answer-cookie.ts';
import { identifyBrowser, isOwnForm, type KnownBrowser } from '../../../login-page/browser-cookie.ts';
import { loginPathOf } from '../../../login-page/login-request.ts';
import { toPageApplication } from '../../../login-page/page-application.ts';
import { sendPage } from '../../../login-page/responses.ts';
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
import { renderConsent } from './render-consent.ts';
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
  if (!asked) throw new PageProblem('unknown');
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
