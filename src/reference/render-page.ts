import { createHash } from 'node:crypto';
import { toPageHeaders } from '../http/exchange.ts';
import { Html, html, htmlDocument, readScript, readStyle } from '../http/html.ts';
import type { StaticText } from './static-text.ts';

interface Page {
  readonly title: string;
  readonly description: string;
  /** CSS files, included after the shared ones. */
  readonly styles: readonly URL[];
  readonly body: Html;
  /** A script. The page must also work without it, because scripts may be off. */
  readonly script?: URL;
}

/** Returns a page whose content security policy allows no style or script but its own. The script may fetch from Usher. */
export function renderPage({ title, description, styles, body, script }: Page): StaticText {
  const style = readStyle(...['base', 'brand'].map(sharedStyle), ...styles);
  const code = script && readScript(script);
  const ofScript = code ? `script-src '${hashOf(code)}'; connect-src 'self'; ` : '';
  const end = code && html`\n<script type="module">${new Html(code)}</script>`;
  const head = html`<meta name="description" content="${description}">
<style>${new Html(style)}</style>`;
  return {
    text: htmlDocument(title, head, html`${body}${end}`),
    headers: toPageHeaders(`style-src '${hashOf(style)}'; ${ofScript}img-src data:; form-action 'none'`),
  };
}

/** Returns the URL of a file of `http/styles`. */
export const sharedStyle = (name: string) => new URL(`../http/styles/${name}.css`, import.meta.url);

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
