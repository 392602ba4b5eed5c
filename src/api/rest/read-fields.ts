/** Gathers an RPC's fields from an HTTP request. Their values are unchecked: any JSON may be in a body. */

import type { Deadline } from '../../database/database.ts';
import { ServiceError } from '../../domain/errors.ts';
import { type HttpContext, headerOf, type NodeRequest } from '../../http/http-context.ts';
import { HttpError, readBody, requireLengthWithin } from '../../http/read-body.ts';
import { MAX_MESSAGE_BYTES } from '../call.ts';
import type { Route } from './routes.ts';

/** No text of a caller's can be this: a check of the field refuses it as not well-formed. */
const MALFORMED = '\uD800';

/**
 * The route's fields, each from its place. Throws HttpError 408, 413 or 415, or a ServiceError
 * `Validation failed` where the body is no JSON object.
 */
export async function readFields(
  { method, fields: sources }: Route,
  parameter: string,
  { request, query }: HttpContext,
  deadline: Deadline,
): Promise<Record<string, unknown>> {
  requireLengthWithin(request, MAX_MESSAGE_BYTES);
  // A body on GET and DELETE means nothing, whatever its type.
  const body = method === 'POST' ? await readJsonObject(request, deadline) : {};
  const fields: Record<string, unknown> = {};
  for (const [name, source] of Object.entries(sources)) {
    if (source === 'path') fields[name] = decode(parameter);
    else if (source === 'query') fields[name] = onlyValue(queryValues(query, name));
    else if (Object.hasOwn(body, name)) fields[name] = body[name];
  }
  return fields;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

async function readJsonObject(request: NodeRequest, deadline: Deadline): Promise<Record<string, unknown>> {
  requireJson(request);
  const bytes = await readBody(request, MAX_MESSAGE_BYTES, deadline);
  if (bytes.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    value = undefined;
  }
  if (!isObject(value)) {
    const violation = { field: 'body', message: 'must be a JSON object in UTF-8' };
    throw new ServiceError('invalid', 'Validation failed', [violation]);
  }
  return value;
}

/** No Content-Type counts as JSON. Of its parameters only a charset that is not ours would mean something. */
function requireJson(request: NodeRequest): void {
  const contentType = headerOf(request, 'content-type') || 'application/json';
  const encoding = headerOf(request, 'content-encoding') ?? 'identity';
  const isJson = /^application\/json\s*(?:;|$)/i.test(contentType);
  const isOtherCharset = /;\s*charset\s*=(?!\s*"?utf-?8"?\s*(?:;|$))/i.test(contentType);
  if (!isJson || isOtherCharset || encoding.toLowerCase() !== 'identity')
    throw new HttpError(415, 'Unsupported media type');
}

/** The values of a query parameter. URLSearchParams would mend what is not well-formed. */
function queryValues(query: string, name: string): string[] {
  return query
    .split('&')
    .map((pair) => pair.replaceAll('+', ' ').split('='))
    .filter(([key = '']) => decode(key) === name)
    .map(([, ...value]) => decode(value.join('=')));
}

/** Percent-encoded text. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return MALFORMED;
  }
}

/** The value of a parameter that was given once; a repeated one stays a list, which no check accepts. */
function onlyValue(values: string[]): unknown {
  return values.length > 1 ? values : values[0];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
