import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Html, html, htmlDocument } from '../../http/html.ts';
import { readScript } from '../../http/inline-files.ts';
import type { StaticText } from './generated-text.ts';

interface Page {
  readonly title: string;
  readonly description: string;
  /** The CSS file that follows `base.css`. */
  readonly style: URL;
  readonly body: Html;
  /** A script that the page does without where scripts are off. */
  readonly script?: URL;
}

/** Returns a page. Its content security policy allows only its own style and script. */
export function renderPage({ title, description, style: own, body, script }: Page): StaticText {
  const style = [new URL('../base.css', import.meta.url), own].map((file) => readFileSync(file, 'utf8')).join('');
  const code = script && readScript(script);
  const end = code && html`\n<script type="module">${new Html(code)}</script>`;
  const head = html`<meta name="description" content="${description}">
<style>${new Html(style)}</style>`;
  return {
    text: htmlDocument(title, head, html`${body}${end}`),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        `default-src 'none'; style-src '${hashOf(style)}'; ${code ? `script-src '${hashOf(code)}'; ` : ''}` +
        `img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
  };
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
