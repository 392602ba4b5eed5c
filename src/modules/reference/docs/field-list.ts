/** Renders the fields of a request and of a response. */

import type { Operation } from '../../../api/catalogue.ts';
import { type Html, html } from '../../../http/html.ts';
import type { Field, OperationDescription, SchemaObject } from './openapi.ts';
import { renderText } from './text.ts';

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

export function renderRequest({ route }: Operation, { request }: OperationDescription): Html {
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
export function renderResponse({ route }: Operation, { response, reply }: OperationDescription): Html {
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
