/** Renders the example of an operation for the shell and as TypeScript. Values such as `$USER_ID` stay variables. */
import { type JsonValue, ScalarType } from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { CREDENTIAL_HEADERS, type Operation } from '../../api/catalogue.ts';
import { pathOf } from '../../api/procedures.ts';
import { exampleOf } from './examples.ts';

type Fields = readonly (readonly [name: string, value: JsonValue])[];

/** Returns the call with curl: over REST if the operation has a route, else over Connect. */
export function toCurl(operation: Operation): string {
  const { method, route } = operation;
  const fields = fieldsOf(operation);
  const placed = (place: string) => fields.filter(([name]) => route?.fields[name] === place);
  const body = route ? placed('body') : fields;
  const query = placed('query').map(([name, value]) => `${name}=${encode(value)}`);
  const path = route ? fillPath(route.path, placed('path')) : pathOf(method);
  const verb = route?.method ?? 'POST';
  const needsVerb = verb !== (body.length > 0 || !route ? 'POST' : 'GET');
  const lines = [
    `curl ${needsVerb ? `-X ${verb} ` : ''}"$USHER_URL${path}${query.length > 0 ? `?${query.join('&')}` : ''}"`,
    `  -H "${credentialHeader(operation)}"`,
  ];
  return body.length > 0 || !route
    ? withJson(lines, `  -H 'Content-Type: application/json' -d`, body)
    : lines.join(' \\\n');
}

/** Returns the call with `buf curl`, which learns the schema by reflection. */
export function toBufCurl(operation: Operation): string {
  const lines = [`buf curl "$USHER_URL${pathOf(operation.method)}"`, `  -H "${credentialHeader(operation)}"`];
  const fields = fieldsOf(operation);
  return fields.length > 0 ? withJson(lines, '  -d', fields) : lines.join(' \\\n');
}

/** Returns the call with the client package. */
export function toTypeScript(operation: Operation): string {
  const { method, credential } = operation;
  const fields = fieldsOf(operation);
  // TypeScript accepts no undefined item of a list.
  const defaultIn = (value: JsonValue) => (Array.isArray(value) ? " = ''" : '');
  const variables = fields.flatMap(([, value]) =>
    variablesIn(value).map((variable) => variable.slice(1) + defaultIn(value)),
  );
  const times = fields.filter(([name]) => isTime(operation, name));
  const entries = fields.map(([name, value]) => {
    if (isTime(operation, name)) return `${name}: timestampFromDate(new Date(${quote(value)}))`;
    return `${name}: ${isBytes(operation, name) ? `Buffer.from(${quote(value)}, 'base64')` : quote(value)}`;
  });
  const short = entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
  const argument = short.length > 48 ? `{\n${entries.map((entry) => `  ${entry},\n`).join('')}}` : short;
  const client = credential === 'adminKey' ? 'admin' : `client.${clientName(operation)}`;
  return [
    ...(times.length > 0 ? ["import { timestampFromDate } from '@bufbuild/protobuf/wkt';\n"] : []),
    ...(variables.length > 0 ? [`const { ${variables.join(', ')} } = env;`] : []),
    `const response = await ${client}.${method.localName}(${argument});`,
  ].join('\n');
}

/** Returns the client's property for the service: `auth`, or the plural of a resource, such as `events`. */
function clientName({ method }: Operation): string {
  const name = method.parent.name.replace('Service', '').toLowerCase();
  return name === 'auth' ? name : `${name}s`;
}

function fieldsOf({ method }: Operation): Fields {
  return Object.entries(exampleOf(method));
}

function credentialHeader({ credential }: Operation): string {
  return `${CREDENTIAL_HEADERS[credential]}: $${credential === 'adminKey' ? 'ADMIN_KEY' : 'API_KEY'}`;
}

/** Uses a here-document if the shell must fill in variables, else one quoted word. */
function withJson(lines: readonly string[], option: string, fields: Fields): string {
  const entries = fields.map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const short = `{${entries.join(', ')}}`;
  const json = short.length > 56 ? `{\n${entries.map((entry) => `  ${entry}`).join(',\n')}\n}` : short;
  if (!fields.some(([, value]) => variablesIn(value).length > 0))
    return [...lines, `${option} '${json}'`].join(' \\\n');
  return `${[...lines, `${option} @- <<EOF`].join(' \\\n')}\n${json}\nEOF`;
}

function fillPath(path: string, fields: Fields): string {
  const values = Object.fromEntries(fields);
  return path.replace(/:(\w+)/g, (_, name: string) => encode(values[name] ?? ''));
}

function encode(value: JsonValue): string {
  return isVariable(value) ? value : encodeURIComponent(String(value));
}

function isVariable(value: JsonValue): value is `$${string}` {
  return typeof value === 'string' && value.startsWith('$');
}

/** Returns the variables of a value, which may be a list of them. */
function variablesIn(value: JsonValue): `$${string}`[] {
  return (Array.isArray(value) ? value : [value]).filter(isVariable);
}

function isTime({ method }: Operation, name: string): boolean {
  return method.input.fields.some((field) => field.localName === name && field.message === TimestampSchema);
}

function isBytes({ method }: Operation, name: string): boolean {
  return method.input.fields.some((field) => field.localName === name && field.scalar === ScalarType.BYTES);
}

function quote(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(quote).join(', ')}]`;
  if (isVariable(value)) return value.slice(1);
  if (typeof value === 'object' && value)
    return `{ ${Object.entries(value)
      .map(([name, item]) => `${name}: ${quote(item)}`)
      .join(', ')} }`;
  return typeof value === 'string' ? `'${value.replace(/['\\]/g, '\\$&')}'` : String(value);
}
