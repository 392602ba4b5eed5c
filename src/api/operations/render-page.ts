import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Html, html, htmlDocument } from '../../http/html.ts';
import type { StaticText } from './generated-text.ts';

interface Page {
  readonly title: string;
  readonly description: string;
  /** The CSS file that follows `base.css`. */
  readonly style: URL;
  readonly body: Html;
}

/** Returns a page without scripts. Its content security policy allows only its own style. */
export function renderPage({ title, description, style: own, body }: Page): StaticText {
  const style = [new URL('../base.css', import.meta.url), own].map((file) => readFileSync(file, 'utf8')).join('');
  const head = html`<meta name="description" content="${description}">
<style>${new Html(style)}</style>`;
  return {
    text: htmlDocument(title, head, body),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; ` +
        `img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
  };
}
