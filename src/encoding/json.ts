/** Returns whether a JSON value is an object, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A name with its colon, another string, or the begin or end of an object. */
const TOKENS = /("(?:[^"\\]|\\.)*")(?:\s*(:))?|[{}]/g;

/**
 * Returns the first name that an object of the JSON has twice: parsers differ in the value that they take (RFC 8259,
 * section 4), and that of JavaScript takes the last one without a word. `json` must be well-formed.
 */
export function findRepeatedName(json: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, text, colon] of json.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (text && colon) {
      const name = String(JSON.parse(text));
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}

/** Parses a JSON object. Returns undefined for any other text. */
export function parseObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
