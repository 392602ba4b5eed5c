/** The page at `/`, which lists every endpoint. */
import { VERSION } from '../../config/version.ts';
import { html } from '../../http/html.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { send } from '../../http/response.ts';
import { anchorOf, SERVICES } from '../catalogue.ts';
import { renderPage } from './render-page.ts';

/** Links are relative to the path of `PUBLIC_URL`. */
const { text, headers } = renderPage({
  title: `Usher ${VERSION}`,
  description: 'Signs users in to applications.',
  style: new URL('home-page.css', import.meta.url),
  body: html`<main class="card">
<h1>Usher <small>${VERSION}</small></h1>
<p>Signs users in to applications, over REST, Connect, gRPC and gRPC-Web on this port.</p>
<h2>Open to everyone</h2>
<ul>
<li><a href="docs">/docs</a> API reference, with examples to copy</li>
<li><a href="openapi.json">/openapi.json</a> the REST API as an OpenAPI document</li>
<li><a href="connect.json">/connect.json</a> all RPCs, over Connect with JSON, likewise</li>
<li><a href="healthz">/healthz</a> whether the process lives</li>
<li><a href="readyz">/readyz</a> whether it takes calls</li>
<li><a href=".well-known/jwks.json">/.well-known/jwks.json</a> public keys that verify auth tokens</li>
</ul>
${SERVICES.map(
  ({ service, header, operations }) => html`<h2>${service.typeName} <small>${header}</small></h2>
<table>
${operations.map(
  ({ method, route }) =>
    html`<tr><th scope="row"><a href="docs#${anchorOf(method)}">${method.name}</a></th><td>${
      route && html`<b>${route.method}</b> ${route.path}`
    }</td></tr>\n`,
)}</table>
`,
)}</main>`,
});

export function sendHomePage(context: HttpContext): void {
  send(context, 200, text, headers);
}
