/** The document around the content of a page, with inline style and script. */
import { Html, html, htmlDocument, joinScripts, readScript, readStyle } from '../../http/html.ts';
import { ENGLISH, type Language } from '../../texts/texts.ts';
import { renderAccent } from './branding.ts';
import type { PageApplication } from './page-application.ts';

export interface PageContent {
  /** English by default. */
  readonly language?: Language;
  readonly title: string;
  readonly application?: Pick<PageApplication, 'accentColor'> | undefined;
  /** `card` by default. `page` has the full width. */
  readonly layout?: 'card' | 'page';
  readonly body: Html;
  /** The `footer` element below the card. */
  readonly footer?: Html;
  /** CSS after that of the layout. */
  readonly style?: string;
  /** Modules that run after `page.js`. */
  readonly scripts?: readonly string[];
}

const COMMON = ['../../http/styles/base.css', '../../http/styles/forms.css'];
const styles = {
  card: readStyles([...COMMON, '../login.css', '../../http/styles/preferences.css']),
  page: readStyles([...COMMON, '../../http/styles/panels.css', '../../http/styles/preferences.css']),
};
const pageScript = readScript(new URL('../scripts/page.js', import.meta.url));

/** The content security policy allows only style and scripts with the nonce. */
export function renderDocument(page: PageContent, nonce: string): string {
  const { language = ENGLISH, application, title, layout = 'card', style = '', body, footer, scripts = [] } = page;
  const head = html`<style nonce="${nonce}">${styles[layout]}${new Html(style)}${application && renderAccent(application)}</style>`;
  const content = html`${layout === 'page' ? html`<div class="page tight">${body}${footer}</div>` : html`${renderCard(body)}${footer}`}
<script type="module" nonce="${nonce}">${new Html(joinScripts(pageScript, scripts))}</script>`;
  const { tag, direction } = language;
  return htmlDocument(title, head, content, {
    language: tag,
    direction,
    className: layout === 'page' ? 'wide' : 'login',
  });
}

function renderCard(body: Html): Html {
  return html`<main class="card">
${body}
<p class="status small soft" role="status"></p>
</main>
`;
}

function readStyles(files: readonly string[]): Html {
  return new Html(readStyle(...files.map((file) => new URL(file, import.meta.url))));
}
