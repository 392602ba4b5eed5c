/** Reads the fields of an RPC from an HTTP request, before validation: a field of the body may be any JSON. */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { invalidField, ServiceError } from '../../domain/core/errors.ts';
import { findRepeatedName, isObject } from '../../encoding/json.ts';
import { HttpError } from '../../http/errors.ts';
import { checkContentLength, headerOf, readBody } from '../../http/exchange.ts';
import type { HttpContext, NodeRequest } from '../../http/http-context.ts';
import type { PathParameters } from '../../http/route-table.ts';
import { MAX_MESSAGE_BYTES } from '../call-info.ts';
import { type MediaType, readMediaType } from '../media-type.ts';
import { shorten, unknownFields } from '../unknown-fields.ts';
import type { Route } from './routes.ts';

type JsonObject = Record<string, unknown>;

/** Replaces text with malformed percent-encoding. It is a lone surrogate, so that validation refuses the field. */
const MALFORMED = '\uD800';

/**
 * Returns the fields of the route, from path, query and body.
 *
 * @param deadline in milliseconds of `performance.now()`
 * @throws HttpError 408, 413 or 415
 * @throws ServiceError `Validation failed` if the body is not a JSON object, or if it or the query has unknown or
 * repeated fields
 */
export async function readFields(
  { method, rpc, fields: sources, isLenient }: Route,
  parameters: PathParameters,
  { request, query }: HttpContext,
  deadline: number,
): Promise<JsonObject> {
  checkContentLength(request, MAX_MESSAGE_BYTES);
  // The body of a GET or DELETE has no meaning, whatever its type.
  const body = method === 'POST' || method === 'PATCH' ? await readJsonObject(request, deadline, { isLenient }) : {};
  if (!isLenient) requireKnown({ rpc, fields: sources }, body, query);
  const fields: JsonObject = {};
  for (const name in sources) {
    const source = sources[name];
    if (source === 'path') fields[name] = decodeSegment(parameters[name] ?? '');
    else if (source === 'query') fields[name] = readQuery(rpc.input.field[name], queryValues(query, name));
    else if (Object.hasOwn(body, name)) fields[name] = body[name];
  }
  return fields;
}

/** @throws ServiceError `Validation failed` that names the fields of body and query that the route does not have */
function requireKnown({ rpc, fields }: Pick<Route, 'rpc' | 'fields'>, body: JsonObject, query: string): void {
  const misplaced = Object.keys(body).filter((name) => rpc.input.field[name] && fields[name] !== 'body');
  const parameters = query ? readPairs(query).map(([name]) => name) : [];
  const unknownParameters = parameters.filter((name) => fields[name] !== 'query');
  const unknown = [...findUnknownFields(rpc.input, body), ...misplaced, ...unknownParameters];
  if (unknown.length > 0) throw unknownFields([...new Set(unknown)]);
}

/** Returns the paths of fields that the schema lacks, at any depth. Ignores values of a wrong type. */
export function findUnknownFields({ fields }: DescMessage, object: JsonObject, prefix = ''): string[] {
  const paths: string[] = [];
  for (const name of Object.keys(object)) {
    const type = fields.find(({ jsonName }) => jsonName === name);
    if (!type) paths.push(prefix + name);
    else if (type.message && !type.message.typeName.startsWith('google.protobuf.')) {
      const inner = object[name];
      const items = Array.isArray(inner) ? inner.map((item, at) => [`[${at}]`, item]) : [['', inner]];
      for (const [at, item] of items) {
        if (isObject(item)) paths.push(...findUnknownFields(type.message, item, `${prefix}${name}${at}.`));
      }
    }
  }
  return paths;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Returns the body. @throws as `readFields` */
export async function readJsonObject(
  request: NodeRequest,
  deadline: number,
  { isLenient }: { isLenient: boolean },
): Promise<JsonObject> {
  requireJson(request);
  const bytes = await readBody(request, MAX_MESSAGE_BYTES, deadline);
  if (bytes.length === 0) return {};
  const { text, object } = parse(bytes);
  if (!object) throw invalidField('body', 'must be a JSON object in UTF-8');
  if (!isLenient) requireUniqueNames(text);
  return object;
}

/** Returns no object if the bytes are other JSON, or none in UTF-8. */
function parse(bytes: Buffer): { readonly text: string; readonly object?: JsonObject } {
  try {
    const text = utf8.decode(bytes);
    return text.trimStart().startsWith('{') ? { text, object: JSON.parse(text) } : { text };
  } catch {
    return { text: '' };
  }
}

/**
 * Refuses JSON objects that have a name twice. Over RPC, Protobuf refuses them. `json` must be well-formed.
 *
 * @throws ServiceError `Validation failed` that names the first repeated name
 */
export function requireUniqueNames(json: string): void {
  const name = findRepeatedName(json);
  if (name !== undefined) throw repeatedName(name);
}

function repeatedName(name: string): ServiceError {
  const violation = { field: shorten(name) || 'body', message: 'must not come twice' };
  return new ServiceError('VALIDATION_FAILED', { violations: [violation] });
}

const JSON_TYPE = 'application/json';

/** Treats a missing Content-Type as JSON. Refuses a charset other than UTF-8, and ignores other parameters. */
function requireJson(request: NodeRequest): void {
  const encoding = headerOf(request, 'content-encoding') ?? 'identity';
  // Almost every request says one of these, which need no parser.
  const isJson =
    ['', JSON_TYPE].includes(headerOf(request, 'content-type') ?? '') || isJsonInUtf8(readMediaType(request));
  if (!isJson) throw new HttpError('UNSUPPORTED_MEDIA_TYPE', { header: 'Content-Type', value: JSON_TYPE });
  if (encoding.toLowerCase() !== 'identity')
    throw new HttpError('UNSUPPORTED_MEDIA_TYPE', { header: 'Content-Encoding', value: 'identity' });
}

const isJsonInUtf8 = ({ name, isUtf8 }: MediaType): boolean => name === JSON_TYPE && isUtf8;

function queryValues(query: string, name: string): string[] {
  return readPairs(query).flatMap(([key, value]) => (key === name ? [value] : []));
}

/** Returns names and values. URLSearchParams would silently replace malformed characters. */
export function readPairs(query: string): [name: string, value: string][] {
  return query
    .split('&')
    .filter(Boolean)
    .map((pair) => pair.replaceAll('+', ' ').split('='))
    .map(([name = '', ...value]) => [decodeSegment(name), decodeSegment(value.join('='))]);
}

export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return MALFORMED;
  }
}

/** Converts the values to the type of the field. A value of another type stays text, which validation refuses. */
function readQuery(field: DescField | undefined, values: string[]): unknown {
  if (field?.fieldKind === 'list') return values.length > 0 ? values : undefined;
  const [value] = values;
  // A repeated parameter stays an array, which validation refuses.
  if (value === undefined || values.length > 1) return values.length > 1 ? values : undefined;
  if (field?.scalar === ScalarType.INT32) return /^-?\d{1,10}$/.test(value) ? Number(value) : value;
  if (field?.scalar === ScalarType.BOOL) return value === 'true' || (value === 'false' ? false : value);
  return value;
}
