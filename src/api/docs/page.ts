/**
 * The API reference at `/docs`, from the OpenAPI documents, the examples and the table of errors.
 *
 * `npx redocly build-docs gen/openapi/rest.json` writes a page from the documents alone. That page loads a script
 * of 2.3 MB from another host and needs a weaker content security policy. It has no gRPC and no client package. This page
 * has a script of 2 kB, and tests run every call that it shows.
 */
import { VERSION } from '../../config/version.ts';
import { html } from '../../http/html.ts';
import { MARK } from '../../http/mark.ts';
import { anchorOf, CREDENTIAL_HEADERS, SERVICES } from '../catalogue.ts';
import { withoutErrors } from '../documented-errors.ts';
import type { StaticText } from '../operations/generated-text.ts';
import { renderPage } from '../operations/render-page.ts';
import { type ExampleSetup, renderGuides } from './guides.ts';
import { OpenApi } from './openapi.ts';
import { renderOperation } from './operation.ts';
import { SEARCH_WORDS } from './search-words.ts';
import { renderText } from './text.ts';

const AUDIENCES = [
  {
    id: 'applications',
    title: 'For applications',
    credential: CREDENTIAL_HEADERS.apiKey,
    about: 'Partners call these with the API key of their application.',
  },
  {
    id: 'operators',
    title: 'For operators',
    credential: CREDENTIAL_HEADERS.adminKey,
    about: 'Whoever runs Usher calls these with an admin key. Applications need none of them.',
  },
];

export function renderReference(setup: ExampleSetup): StaticText {
  const openApi = new OpenApi();
  const guides = renderGuides(setup);
  return renderPage({
    title: 'Usher API reference',
    description: 'Every operation of Usher, with its fields, errors and examples to copy.',
    styles: [new URL('page.css', import.meta.url)],
    script: new URL('page.js', import.meta.url),
    body: html`<a class="skip" href="#content">Skip to content</a>
<header class="top">
<a class="brand" href=".">${MARK}Usher <span class="soft small">${VERSION}</span></a>
<p class="small">OpenAPI: <a href="openapi.json">REST</a>, <a href="connect.json">Connect</a></p>
</header>
<div class="frame">
<nav class="toc" aria-label="Contents">
<form class="search" role="search" hidden><label>Search <input type="search" autocomplete="off"></label> <output></output></form>
<details>
<summary>Contents</summary>
<p>Guides</p>
<ul class="plain">${guides.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul>
${AUDIENCES.map(
  ({ id, title, credential }) => html`<p><a href="#${id}">${title}</a></p>
${SERVICES.filter(({ header }) => header === credential).map(
  ({ service, operations }) =>
    html`<details><summary>${service.name}</summary><ul class="plain">${operations.map(
      (operation) => html`<li><a href="#${anchorOf(operation.method)}">${operation.method.name}</a></li>`,
    )}</ul></details>`,
)}`,
)}
</details>
</nav>
<main id="content">
<h1>API reference</h1>
<p class="lead">Your application sends people to Usher. Usher signs them in and sends them back with a token. You exchange it for a user and a session.</p>
${guides.map(({ id, title, body }) => html`<section class="guide" id="${id}" data-words="${SEARCH_WORDS[id] ?? ''}"><h2><a href="#${id}">${title}</a></h2>${body}</section>`)}
${AUDIENCES.map(
  ({ id, title, credential, about }) => html`<section class="audience" id="${id}"><h2><a href="#${id}">${title}</a></h2>
<p>${about} Header: <code>${credential}</code>.</p>
${SERVICES.filter(({ header }) => header === credential).map(
  ({ service, operations }) => html`<section class="service" id="${service.name}">
<h2><a href="#${service.name}">${service.name}</a></h2>
<p>${renderText(withoutErrors(openApi.describeService(service)))}</p>
${operations.map((operation) => renderOperation(operation, openApi))}
</section>`,
)}</section>`,
)}
</main>
</div>`,
  });
}
