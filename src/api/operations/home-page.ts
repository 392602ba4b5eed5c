/** The page at `/`: says what this is and which endpoints it has. */
import { readFileSync } from 'node:fs';
import { VERSION } from '../../config/version.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { send } from '../../http/response.ts';
import { type Operation, SERVICES } from '../catalogue.ts';
import { anchorOf } from '../docs/anchor.ts';
import { pageHeaders } from './page-headers.ts';

const style = read('../base.css') + read('home-page.css');
const headers = pageHeaders(style);

/** Nothing in it comes from outside, so nothing needs escaping. Links are relative to the path of `PUBLIC_URL`. */
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Usher ${VERSION}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main class="card">
<h1>Usher <small>${VERSION}</small></h1>
<p>Signs users in to applications, over REST, Connect, gRPC and gRPC-Web on this port.</p>
<h2>Open to everyone</h2>
<ul>
<li><a href="docs">/docs</a> API reference, with examples to copy</li>
<li><a href="openapi.json">/openapi.json</a> the REST API as an OpenAPI document</li>
<li><a href="healthz">/healthz</a> whether the process lives</li>
<li><a href="readyz">/readyz</a> whether it takes calls</li>
<li><a href=".well-known/jwks.json">/.well-known/jwks.json</a> public keys that verify auth tokens</li>
</ul>
${SERVICES.map(
  ({ service, header, operations }) => `<h2>${service.typeName} <small>${header}</small></h2>
<table>
${operations.map(renderRow).join('\n')}
</table>`,
).join('\n')}
</main>
</body>
</html>
`;

/** Sends the page. */
export function sendHomePage(context: HttpContext): void {
  send(context, 200, page, headers);
}

function renderRow({ method, route }: Operation): string {
  const rest = route ? `<b>${route.method}</b> ${route.path}` : '';
  return `<tr><th scope="row"><a href="docs#${anchorOf(method)}">${method.name}</a></th><td>${rest}</td></tr>`;
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
