import { html } from '../../../http/html.ts';
import { readScript } from '../../../http/inline-files.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderHeading } from '../../../login-page/pages/parts.ts';
import type { Language } from '../../../texts/texts.ts';

const RETURN_SCRIPT = readScript(new URL('../../../login-page/scripts/return.js', import.meta.url));

/** Renders the form with the answer for an application. The script submits it; without JavaScript, the person does. */
export function renderReturnForm(
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
