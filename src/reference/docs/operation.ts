import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { anchorOf, type Operation } from '../../api/catalogue.ts';
import { statusOfError } from '../../api/envelope.ts';
import { type Html, html } from '../../http/html.ts';
import { type DocumentedError, readErrors, withoutErrors } from '../documented-errors.ts';
import { toBufCurl, toCurl, toTypeScript } from './example-commands.ts';
import type { Field, OpenApi, OperationDescription, SchemaObject } from './openapi.ts';
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

const UUID = '8f14e45f-ceea-467f-ab5b-5d2c1f0e9a37';
const LOGO_URI = `https://login.example.com/login/logo/${UUID}/light/6b86b273ff34fce1…`;

/** Values by field name, or by `Message.field` where messages share a name. Other fields get a value of their type. */
const VALUES: Readonly<Record<string, JsonValue>> = {
  'ApiKey.name': 'Kasse 2 – Süd',
  'Application.name': 'Café Zoë',
  'Event.name': 'Sommerfest Zürich',
  'WebhookApplication.name': 'Café Zoë',
  accentColor: '#0f5e5a',
  action: 'EventService/CreateEvent',
  actor: 'admin',
  actorType: 'admin_key',
  apiKey: 'usk_mC9tQ2fVx7…',
  applicationName: 'Café Zoë',
  attemptCount: 1,
  attendeeId: 'ticket-4711',
  authToken: 'eyJhbGciOiJFZERTQSIs…',
  authUrl: `https://login.example.com/login?intent=${UUID}&client_id=client_fd2b7c0a`,
  clientId: 'client_fd2b7c0a',
  darkLogoUri: LOGO_URI.replace('light', 'dark'),
  description: 'Zoë – check-ins & more',
  durationMs: 84,
  email: 'ada@example.com',
  eventId: 'party-2026',
  eventTypes: ['*'],
  initiateLoginUri: 'https://app.example.com/login',
  ipAddress: '203.0.113.7',
  lastStatusCode: 204,
  loginMethods: ['email', 'passkey'],
  logoUri: LOGO_URI,
  messageId: 'msg_42',
  method: 'email',
  name: 'Ada Lovelace',
  nextPageToken: '',
  privacyUri: 'https://app.example.com/privacy',
  profileImage: 'https://example.com/ada.png',
  redirectUris: ['https://app.example.com/callback'],
  redirectUrl: 'https://app.example.com/callback?authToken=eyJhbGciOi…&state=…&iss=…',
  requestId: UUID,
  resource: 'party-2026',
  responseBody: '',
  sessionIdleSeconds: 900,
  sessionMaxAgeSeconds: 3600,
  signingKey: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw…',
  state: 'open',
  status: 'succeeded',
  statusCode: 204,
  supportUri: 'mailto:help@example.com',
  termsUri: 'https://app.example.com/terms',
  type: 'event.created',
  url: 'https://example.com/hooks',
  userAgent: 'Mozilla/5.0 …',
  walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
  webhookId: 'wh_5f3c0b9a7d1e4c28a6b4e8f7d2c19035',
};

/** Fields that a typical reply does not have. */
const ABSENT = ['disabledReason', 'error', 'lastError', 'nextAttemptAt', 'deactivatedAt', 'revokedAt', 'replacedBy'];

/** Returns an example value of the schema. `name` and `message` are those of the field that has the schema, if any. */
export function exampleReply(schema: SchemaObject, name = '', message = ''): JsonValue {
  const { const: constant, items, properties, title, type = 'object' } = schema;
  if (constant !== undefined) return constant as JsonValue;
  if (items && !(name in VALUES)) return [exampleReply(items, name)];
  if (properties || type === 'object') {
    const entries = Object.entries(properties ?? {}).filter(([key]) => !ABSENT.includes(key));
    return Object.fromEntries(entries.map(([key, each]) => [key, exampleReply(each, key, title)]));
  }
  const known = VALUES[`${message}.${name}`] ?? VALUES[name];
  if (known !== undefined) return known;
  if (type === 'boolean') return true;
  if (type === 'integer') return 1;
  return schema.format === 'date-time' ? '2026-03-14T09:26:53.589Z' : UUID;
}

/** Renders the fields of a request and of a response. */
const FORMATS: Readonly<Record<string, string>> = {
  byte: 'bytes (base64 in JSON)',
  color: 'colour',
  'date-time': 'time (ISO 8601)',
  email: 'e-mail address',
  'https-uri': 'https URI',
  'ip-address': 'IP address',
  'field-mask': 'names of fields, comma-separated',
  'message-id': 'message ID',
  cursor: 'cursor',
  'page-token': 'page token',
  'redirect-uri': 'URI',
  'resource-uri': 'URL',
  'client-id': 'client ID',
  'support-uri': 'URI',
  'login-method': 'login method',
  uri: 'URL',
  uuid: 'UUID',
  'web-redirect-uri': 'URI',
  'webhook-url': 'https URL',
};

function renderRequest({ route }: Operation, { request }: OperationDescription): Html {
  if (request.length === 0) return html`<p>No fields.</p>`;
  const rows = request.map((field) => {
    const place = route?.fields[field.name];
    const where = route && !place ? 'RPC only' : place === 'body' ? undefined : place;
    const others = field.alternatives.map((name) => `required without ${name}`);
    return renderField(field, [where, field.isRequired ? 'required' : undefined, ...others]);
  });
  return html`<dl>${rows}</dl>`;
}

/** Shows the fields of `data` if the operation has a REST route, else the fields of the RPC. */
function renderResponse({ route }: Operation, { response, reply }: OperationDescription): Html {
  const { data } = reply.properties ?? {};
  if (response.length === 0) return html`<p>No fields.</p>`;
  const { resource } = route ?? {};
  const rows = response
    .filter(({ name }) => name !== resource)
    .map((field) => {
      const name =
        resource && field.name.startsWith(`${resource}.`) ? field.name.slice(resource.length + 1) : field.name;
      const isInRest = !route || (data && hasField(data, name));
      return renderField({ ...field, name }, [isInRest ? undefined : 'RPC only']);
    });
  const note = resource && html`<p>In an RPC, these are fields of <code>${resource}</code>.</p>`;
  return html`${note}<dl>${rows}</dl>`;
}

function hasField(schema: SchemaObject, name: string): boolean {
  const [first = '', ...rest] = name.replaceAll('[]', '').split('.');
  const field = (schema.items ?? schema).properties?.[first];
  return field !== undefined && (rest.length === 0 || hasField(field, rest.join('.')));
}

function renderField({ name, schema }: Field, marks: readonly (string | undefined)[]): Html {
  const shown = marks.flatMap((mark) =>
    mark ? [html` <b class="${mark === 'required' ? 'required' : 'place'}">${mark}</b>`] : [],
  );
  const { description } = schema;
  // Let browsers break long names after a dot.
  const parts = name.split(/(?<=\.)/).map((part) => html`<wbr>${part}`);
  return html`<dt><code>${parts}</code> <span class="type">${describeType(schema)}</span>${shown}</dt>
<dd>${description && renderText(description)}</dd>
`;
}

/** Returns type and limits, such as `string, 1–500 characters`. */
function describeType({ type, format = '', enum: values, items, ...limits }: SchemaObject): string {
  if (items)
    return `list of ${items.properties ? 'objects' : describeType(items)}${range(limits.minItems, limits.maxItems, ' items')}`;
  if (values) return values.map((value) => JSON.stringify(value)).join(', ');
  const name = FORMATS[format] ?? [type].flat()[0] ?? 'object';
  if (name === 'integer') return `${name}${range(limits.minimum, limits.maximum, '')}`;
  return format === 'page-token' || format === 'cursor'
    ? name
    : `${name}${range(limits.minLength, limits.maxLength, ' characters')}`;
}

function range(min: number | undefined, max: number | undefined, unit: string): string {
  if (max === undefined) return '';
  return min === undefined ? `, up to ${max}${unit}` : `, ${min}–${max}${unit}`;
}
