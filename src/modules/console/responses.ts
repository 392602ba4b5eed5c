/** The responses of the console, with their security headers. */
import { createHash } from 'node:crypto';
import { RETRY_SOON, send, sendJson, toPageHeaders } from '../../http/exchange.ts';
import { Html, html, htmlDocument, joinScripts, readScript, readStyle } from '../../http/html.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { withoutDirectionControls } from '../../texts/isolate.ts';

const styles = ['base', 'forms', 'panels'].map((name) => new URL(`../../http/styles/${name}.css`, import.meta.url));
const style = readStyle(
  ...styles,
  new URL('../../http/styles/brand.css', import.meta.url),
  new URL('tables.css', import.meta.url),
  new URL('console.css', import.meta.url),
  new URL('../../http/styles/preferences.css', import.meta.url),
);
const script = joinScripts(readScript(new URL('console.js', import.meta.url)), [
  readScript(new URL('combobox.js', import.meta.url)),
]);

/** The policy has no form-action: browsers would apply it to redirects after a form, too, and one leads to the login page. */
const HEADERS = {
  ...toPageHeaders(
    `style-src ${sourceOf(style)}; script-src ${sourceOf(script)}; connect-src 'self'; ` +
      `frame-src 'self'; img-src 'self' data:`,
  ),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const head = html`<style>${new Html(style)}</style>`;
const foot = html`<script type="module">${new Html(script)}</script>`;

export function sendDocument(
  context: HttpContext,
  {
    status = 200,
    title,
    body,
    className = 'console',
  }: { status?: number; title: string; body: Html; className?: string },
): void {
  const document = htmlDocument(`${withoutDirectionControls(title)} · Usher console`, head, html`${body}\n${foot}`, {
    className,
  });
  send(context, status, document, { ...HEADERS, ...(status === 503 && RETRY_SOON) });
}

/** Sends JSON to a script of the console. */
export function sendData(context: HttpContext, data: unknown): void {
  sendJson(context, 200, JSON.stringify(data), { ...HEADERS, 'content-type': 'application/json' });
}

export function redirectTo(context: HttpContext, location: string): void {
  send(context, 303, '', { location, ...HEADERS });
}

function sourceOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
