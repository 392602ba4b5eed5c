import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Html, html } from '../../http/html.ts';
import type { StaticText } from './generated-text.ts';

interface Page {
  readonly title: string;
  readonly description: string;
  /** The file of its own style. */
  readonly style: URL;
  readonly body: Html;
}

/** Returns a page without script. Its policy allows its style and nothing else. */
export function renderPage({ title, description, style: own, body }: Page): StaticText {
  const style = [new URL('../base.css', import.meta.url), own].map((file) => readFileSync(file, 'utf8')).join('');
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<meta name="description" content="${description}">
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
${body}
</body>
</html>
`;
  return {
    text,
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
