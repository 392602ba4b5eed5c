import { addToQuery } from '../../../domain/applications/redirect-uri.ts';
import { UUID } from '../../../domain/core/validation.ts';
import { findLoginIntent, type LoginIntent } from '../../../domain/login/login-intent.ts';
import { html, readScript } from '../../../http/html.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderHeading } from '../../../login-page/pages/parts.ts';
import { sendPage, sendRedirect } from '../../../login-page/pages/responses.ts';
import type { Language } from '../../../texts/texts.ts';
import { type AnswerParameters, answerOf, isCodeLive } from '../domain/authorization/authorization-answer.ts';
import { readCode } from '../domain/tokens/code.ts';
import { type OidcPageRequest, PageProblem } from './oidc-page.ts';

interface Target {
  readonly redirectUri: string;
  readonly responseMode: string;
  readonly state: string;
  /** The languages that the application wants. */
  readonly locale?: string | null;
}

/** Sends the browser to the application with the answer, by a redirect or by a form that submits itself. */
export function sendAnswer(
  { context, languages, parts }: OidcPageRequest,
  target: Target,
  parameters: AnswerParameters,
): void {
  const { redirectUri, responseMode, locale } = target;
  const answer = answerOf(parts.tokens.issuer, target, parameters);
  if (responseMode !== 'form_post') sendRedirect(context, addToQuery(redirectUri, answer));
  else sendPage(context, 200, renderReturnForm(languages.languageFor(locale), redirectUri, answer));
}

const RETURN_SCRIPT = readScript(new URL('../../../login-page/scripts/return.js', import.meta.url));

/** Renders the form with the answer for an application. The script submits it; without JavaScript, the person does. */
function renderReturnForm(
  language: Language,
  redirectUri: string,
  answer: Readonly<Record<string, string>>,
): PageContent {
  const { host } = new URL(redirectUri);
  const text = host
    ? language.html('oidc.return.text', { host: html`<strong><bdi>${host}</bdi></strong>` })
    : language.html('oidc.return.textWithoutHost');
  const fields = Object.entries(answer).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const title = language.text('oidc.return.title');
  return {
    language,
    title,
    body: html`${renderHeading(html`${title}`, html`<p>${text}</p>`)}
<form class="ways" id="return" method="post" action="${redirectUri}">
${fields}<button>${language.text('oidc.return.submit')}</button>
</form>`,
    scripts: [RETURN_SCRIPT],
  };
}

/** The errors that the answer to a login which has begun may have. */
const ERRORS = ['access_denied', 'unmet_authentication_requirements'];

/**
 * The page that posts the answer to applications with `response_mode=form_post` (OAuth 2.0 Form Post Response Mode).
 * Takes a `code`, or an `intent` and an `error`.
 *
 * @throws PageProblem
 */
export async function returnToApplication(request: OidcPageRequest): Promise<void> {
  const { call, parameters, parts } = request;
  const code = parameters.get('code');
  if (code !== undefined) {
    const { loginIntentId } = readCode(parts.oidc.tokenKeys.code, code) ?? {};
    const intent = loginIntentId && (await findFormIntent(request, loginIntentId));
    if (!intent) throw new PageProblem('unknown');
    if (!isCodeLive(intent, call.now)) throw new PageProblem('completed');
    return sendAnswer(request, intent, { code });
  }
  const [loginIntentId = '', error = ''] = [parameters.get('intent'), parameters.get('error')];
  const intent = UUID.test(loginIntentId) ? await findFormIntent(request, loginIntentId) : undefined;
  if (!intent || !ERRORS.includes(error)) throw new PageProblem('unknown');
  sendAnswer(request, intent, { error });
}

async function findFormIntent({ call, oidcCall }: OidcPageRequest, id: string): Promise<LoginIntent | undefined> {
  const intent = await findLoginIntent(call, id);
  if (intent?.responseMode !== 'form_post') return undefined;
  oidcCall.setApplication(intent.applicationId);
  return intent;
}
