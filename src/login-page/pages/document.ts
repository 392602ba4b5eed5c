/** The document around the content of a page, with inline style and script. */
import { Html, html, htmlDocument } from '../../http/html.ts';
import { joinScripts, readScript, readStyle } from '../../http/inline-files.ts';
import { ENGLISH, type Language } from '../../texts/texts.ts';

import type { PageApplication } from '../page-application.ts';
import { renderAccent } from './branding.ts';

export interface PageContent {
  /** English if it is missing. */
  readonly language?: Language;
  readonly title: string;
  readonly application?: PageApplication | undefined;
  /** What the card shows. */
  readonly body: Html;
  /** What stands below the card: a `footer`. */
  readonly footer?: Html;
  /** Modules that run after `page.js`. */
  readonly scripts?: readonly string[];
}

const style = new Html(
  readStyle(
    new URL('../../http/styles/base.css', import.meta.url),
    new URL('../../http/styles/forms.css', import.meta.url),
    new URL('../login.css', import.meta.url),
    new URL('../passkeys.css', import.meta.url),
    new URL('../../http/styles/preferences.css', import.meta.url),
  ),
);
const pageScript = readScript(new URL('../scripts/page.js', import.meta.url));

/** The content security policy allows only style and scripts with the nonce. */
export function renderDocument(page: PageContent, nonce: string): string {
  const { language = ENGLISH, application, title, body, footer, scripts = [] } = page;
  const head = html`<style nonce="${nonce}">${style}${application && renderAccent(application)}</style>`;
  const content = html`<main class="card">
${body}
<p class="status small soft" role="status"></p>
</main>
${footer}
<script type="module" nonce="${nonce}">${new Html(joinScripts(pageScript, scripts))}</script>`;
  const { tag, direction } = language;
  return htmlDocument(title, head, content, { language: tag, direction, className: 'login' });
}
