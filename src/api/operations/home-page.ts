/** The page at `/`: says what this is and which endpoints it has. */
import { readFileSync } from 'node:fs';
import { VERSION } from '../../config/version.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { send } from '../../http/response.ts';
import { OPERATIONS, type Operation, SERVICES } from '../catalogue.ts';
import { anchorOf } from '../docs/anchor.ts';
import { pageHeaders } from './page-headers.ts';

const LINKS = [
  { path: 'docs', what: 'API reference, with examples to copy' },
  { path: 'openapi.json', what: 'the REST API as an OpenAPI document' },
  { path: 'healthz', what: 'whether the process lives' },
  { path: 'readyz', what: 'whether it takes calls' },
  { path: '.well-known/jwks.json', what: 'public keys that verify auth tokens' },
];

const style = read('../palette.css') + read('home-page.css');
const page = renderPage();

const headers = pageHeaders(style);

/** Sends the page. */
export function sendHomePage(context: HttpContext): void {
  send(context, 200, page, headers);
}

/** Nothing in it comes from outside, so nothing needs escaping. Links are relative to the path of `PUBLIC_URL`. */
function renderPage(): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Usher ${VERSION}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<main>
<h1>Usher <small>${VERSION}</small></h1>
<p>Signs users in to applications, over REST, Connect, gRPC and gRPC-Web on this port.</p>
<h2>Open to everyone</h2>
<ul>
${LINKS.map(({ path, what }) => `<li><a href="${path}">/${path}</a> ${what}</li>`).join('\n')}
</ul>
${SERVICES.map(({ service, credential }) => {
  const operations = OPERATIONS.filter(({ method }) => method.parent === service);
  return renderService(service.typeName, credential === 'apiKey' ? 'X-API-Key' : 'X-Admin-Key', operations);
}).join('\n')}
</main>
</body>
</html>
`;
}

function renderService(name: string, header: string, operations: readonly Operation[]): string {
  const rows = operations.map(({ method, route }) => {
    const rest = route ? `<b>${route.method}</b> ${route.path}` : '';
    return `<tr><th scope="row"><a href="docs#${anchorOf(method)}">${method.name}</a></th><td>${rest}</td></tr>`;
  });
  return `<h2>${name} <small>${header}</small></h2>
<table>
${rows.join('\n')}
</table>`;
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
