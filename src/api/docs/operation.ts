import { type Html, html } from '../../http/html.ts';
import { anchorOf, type Operation } from '../catalogue.ts';
import { type DocumentedError, readErrors, withoutErrors } from '../documented-errors.ts';
import { statusOfError } from '../rest/rest.ts';
import { toBufCurl, toCurl, toTypeScript } from './example-commands.ts';
import { exampleReply } from './example-reply.ts';
import { renderRequest, renderResponse } from './field-list.ts';
import type { OpenApi } from './openapi.ts';
import { SEARCH_WORDS } from './search-words.ts';
import { renderCodeBlock, renderText } from './text.ts';

export function renderOperation(operation: Operation, openApi: OpenApi): Html {
  const { method, route } = operation;
  const described = openApi.describe(operation);
  const anchor = anchorOf(method);
  const ofService = readErrors(openApi.describeService(method.parent)).map((error) => ({ ...error, when: '' }));
  // A service may name an error that its method names again.
  const errors = new Map([...ofService, ...readErrors(described.description)].map((error) => [error.reason, error]));
  const paragraphs = withoutErrors(described.description).split('\n\n');
  const path = route?.path.split(/(?=\/)/).map((segment) => html`<wbr>${segment}`);
  return html`<section class="operation card" id="${anchor}" data-words="${SEARCH_WORDS[anchor] ?? ''}">
<h3><a href="#${anchor}">${method.name}</a></h3>
<div class="about">
${path && route && html`<p class="route"><b class="verb ${route.method}">${route.method}</b> <code>${path}</code></p>`}
<p class="route"><b class="verb">RPC</b> <code>${method.parent.typeName}<wbr>/${method.name}</code></p>
${paragraphs.map((paragraph) => html`<p>${renderText(paragraph)}</p>`)}
<h4>Request</h4>
${renderRequest(operation, described)}
<details><summary><h4>Response</h4></summary>
${renderResponse(operation, described)}
</details>
<h4>Errors</h4>
<ul class="errors">${[...errors.values()].map(renderError)}</ul>
</div>
<div class="examples">
<details open><summary>curl</summary>${renderCodeBlock(toCurl(operation))}</details>
<details><summary>buf curl</summary>${renderCodeBlock(toBufCurl(operation))}</details>
<details><summary>TypeScript</summary>${renderCodeBlock(toTypeScript(operation))}</details>
<details open><summary>Reply ${route && html`<b>${String(route.status)}</b>`}</summary>${renderCodeBlock(
    JSON.stringify(exampleReply(described.reply), null, 2),
  )}</details>
</div>
</section>
`;
}

function renderError({ reason, code, message, when }: DocumentedError): Html {
  return html`<li><a href="#error-${reason}"><code>${reason}</code></a> <span>${String(statusOfError(code, reason))}</span> ${message}${
    when && html`, ${when}`
  }</li>
`;
}
