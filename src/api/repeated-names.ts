/**
 * Refuses JSON objects that have a name twice: parsers differ in the value that they take (RFC 8259, section 4). Over
 * RPC, Protobuf refuses them.
 */
import { ServiceError } from '../domain/core/errors.ts';
import { shorten } from './unknown-fields.ts';

/** A name with its colon, another string, or the begin or end of an object. */
const TOKENS = /("(?:[^"\\]|\\.)*")(?:\s*(:))?|[{}]/g;

/** @throws ServiceError `Validation failed` that names the first repeated name. `json` must be well-formed. */
export function requireUniqueNames(json: string): void {
  const open: Set<string>[] = [];
  for (const [token, text, colon] of json.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (text && colon) {
      const name = String(JSON.parse(text));
      const names = open.at(-1);
      if (names?.has(name)) throw repeatedName(name);
      names?.add(name);
    }
  }
}

function repeatedName(name: string): ServiceError {
  const violation = { field: shorten(name) || 'body', message: 'must not come twice' };
  return new ServiceError('VALIDATION_FAILED', { violations: [violation] });
}
