/** The API reference at `/docs`, from the OpenAPI documents, the examples and the table of errors. */
import { VERSION } from '../../config/version.ts';
import { html } from '../../http/html.ts';
import { anchorOf, SERVICES } from '../catalogue.ts';
import { withoutErrors } from '../openapi/documented-errors.ts';
import type { StaticText } from '../operations/generated-text.ts';
import { renderPage } from '../operations/render-page.ts';
import { GUIDES } from './guides.ts';
import { OpenApi } from './openapi.ts';
import { renderOperation } from './operation.ts';
import { renderText } from './text.ts';

export function renderReference(): StaticText {
  const openApi = new OpenApi();
  return renderPage({
    title: 'Usher API reference',
    description: 'Every operation of Usher, with its fields, errors and examples to copy.',
    style: new URL('page.css', import.meta.url),
    body: html`<a class="skip" href="#content">Skip to content</a>
<header>
<p><a href="."><strong>Usher</strong></a> <small>${VERSION}</small></p>
<p><a href="openapi.json">OpenAPI</a></p>
</header>
<div class="frame">
<nav aria-label="Contents">
<p>Guides</p>
<ul>${GUIDES.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
<p>Reference</p>
${SERVICES.map(
  ({ service, operations }) =>
    html`<details><summary>${service.name}</summary><ul>${operations.map(
      (operation) => html`<li><a href="#${anchorOf(operation.method)}">${operation.method.name}</a></li>`,
    )}</ul></details>`,
)}
</nav>
<main id="content">
<h1>API reference</h1>
<p class="lead">One port speaks REST, Connect, gRPC and gRPC-Web. Each operation is described once, with a call for each to copy.</p>
${GUIDES.map(({ id, title, body }) => html`<section class="guide" id="${id}"><h2><a href="#${id}">${title}</a></h2>${body}</section>`)}
${SERVICES.map(
  ({ service, header, operations }) => html`<section class="service" id="${service.name}">
<h2><a href="#${service.name}">${service.name}</a> <small>${header}</small></h2>
<p>${renderText(withoutErrors(openApi.describeService(service)))}</p>
${operations.map((operation) => renderOperation(operation, openApi))}
</section>`,
)}
</main>
</div>`,
  });
}
