import { addToQuery } from '../../../domain/applications/redirect-uri.ts';
import { html } from '../../../http/html.ts';
import { readScript } from '../../../http/inline-files.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderHeading } from '../../../login-page/pages/parts.ts';
import { sendPage, sendRedirect } from '../../../login-page/responses.ts';
import type { Language } from '../../../texts/texts.ts';
import { type AnswerParameters, answerOf } from '../domain/authorization/authorization-answer.ts';
import type { OidcPageRequest } from './oidc-page.ts';

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
