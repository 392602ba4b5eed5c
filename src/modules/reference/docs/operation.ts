import type { JsonObject } from '@bufbuild/protobuf';
import { anchorOf, type Operation } from '../../../api/catalogue.ts';
import { statusOfError } from '../../../api/rest/rest.ts';
import { type Html, html } from '../../../http/html.ts';
import { type DocumentedError, readErrors, withoutErrors } from '../documented-errors.ts';
import { toBufCurl, toCurl, toTypeScript } from './example-commands.ts';
import { exampleReply } from './example-reply.ts';
import { renderRequest, renderResponse } from './field-list.ts';
import type { OpenApi, OperationDescription } from './openapi.ts';
import { renderCodeBlock, renderText } from './text.ts';

/** Renders the operations of a service. */
export class OperationRenderer {
  readonly #openApi: OpenApi;
  /** The operation that was the first with such a response, by the HTML of its fields. */
  readonly #responses = new Map<string, Operation>();

  constructor(openApi: OpenApi) {
    this.#openApi = openApi;
  }

  render(operation: Operation): Html {
    const { method, route } = operation;
    const described = this.#openApi.describe(operation);
    const anchor = anchorOf(method);
    const ofService = readErrors(this.#openApi.describeService(method.parent)).map((error) => ({ ...error, when: '' }));
    // A service may name an error that its method names again.
    const errors = new Map([...ofService, ...readErrors(described.description)].map((error) => [error.reason, error]));
    const paragraphs = withoutErrors(described.description).split('\n\n');
    const path = route?.path.split(/(?=\/)/).map((segment) => html`<wbr>${segment}`);
    return html`<section class="operation card" id="${anchor}">
<h2><a href="#${anchor}">${method.name}</a></h2>
<div class="about">
${path && route && html`<p class="route"><b class="verb ${route.method}">${route.method}</b> <code>${path}</code></p>`}
<p class="route"><b class="verb">RPC</b> <code>${method.parent.typeName}<wbr>/${method.name}</code></p>
${paragraphs.map((paragraph) => html`<p>${renderText(paragraph)}</p>`)}
<h3>Request</h3>
${renderRequest(operation, described)}
<details><summary><h3>Response</h3></summary>
${this.#renderResponseOnce(operation, described)}
</details>
<h3>Errors</h3>
<ul class="errors">${[...errors.values()].map(renderError)}</ul>
</div>
<div class="examples">
<details open><summary>curl</summary>${renderCodeBlock(toCurl(operation))}</details>
<details><summary>buf curl</summary>${renderCodeBlock(toBufCurl(operation))}</details>
<details><summary>TypeScript</summary>${renderCodeBlock(toTypeScript(operation))}</details>
<details open><summary>Reply ${route && html`<b>${String(route.status)}</b>`}</summary>${renderReply(operation, described)}</details>
</div>
</section>
`;
  }

  /** Returns the fields, or where they are described if an operation before has the same. */
  #renderResponseOnce(operation: Operation, described: OperationDescription): Html {
    const fields = renderResponse(operation, described);
    const first = this.#responses.get(fields.text);
    this.#responses.set(fields.text, first ?? operation);
    if (!first || described.response.length === 0) return fields;
    return html`<p>The same fields as in the response of <a href="#${anchorOf(first.method)}">${first.method.name}</a>.</p>`;
  }
}

function renderReply({ route }: Operation, { reply }: OperationDescription): Html {
  const example = exampleReply(reply) as JsonObject;
  return renderCodeBlock(JSON.stringify(route ? { ...example, message: route.message } : example, null, 2));
}

function renderError({ reason, code, message, when }: DocumentedError): Html {
  return html`<li><a href="#error-${reason}"><code>${reason}</code></a> <span>${String(statusOfError(code, reason))}</span> ${message}${
    when && html`, ${when}`
  }</li>
`;
}
