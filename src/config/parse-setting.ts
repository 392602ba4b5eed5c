/** Parsers of settings. Each throws an Error whose message continues the name of the setting. */
import { isIP } from 'node:net';
import { parseDatabaseUrl } from './database-url.ts';
import { isLoginMethod, METHODS_RULE, PROVIDER_ID } from './login-methods.ts';

/** Checks the URL and returns its text: the parts of Usher that connect parse it themselves. */
export function parseDatabaseUrlText(text: string): string {
  parseDatabaseUrl(text);
  return text;
}

export function parseSchema(text: string): string {
  if (!/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(text))
    throw new Error('must be a name of lower-case letters, digits and _ that does not begin with pg_');
  return text;
}

/** Returns the text itself, because applications compare the issuer of auth tokens byte for byte. */
export function parsePublicUrl(text: string): string {
  const { search, username, password, protocol } = parseWebUrl(text);
  if (!text.startsWith(protocol)) throw new Error('must have its scheme in lower case');
  if (search || username || password) throw new Error('must have neither query nor user information');
  return text;
}

/** Returns the normalised URL of a page, file or server outside Usher. */
export function parseForeignUrl(text: string): string {
  return parseWebUrl(text).href;
}

/** Returns the normalised URL, which may have credentials for basic authentication. */
export function parseUrlWithCredentials(text: string): string {
  const url = parseWebUrl(text);
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    throw new Error('must have percent-encoded credentials');
  }
  return url.href;
}

export function parseSmtpUrl(text: string): string {
  // The URL parser checks the host of web schemes only.
  const isValid = /^smtps?:\/\//.test(text) && URL.canParse(text.replace('smtp', 'http'));
  if (!isValid) throw new Error('must be an smtp:// or smtps:// URL');
  return text;
}

/** Returns methods of Usher itself and IDs of providers, mixed as in the text. */
export function parseLoginMethods(text: string): readonly string[] {
  const methods = splitList(text);
  if (!methods.every((name) => isLoginMethod(name) || PROVIDER_ID.test(name))) throw new Error(METHODS_RULE);
  // Users who lose their passkey need another way to sign in.
  if (methods.every((method) => method === 'passkey')) throw new Error('must have another method besides passkey');
  return methods;
}

/** Returns origins in the form of the `Origin` header. */
export function parseOrigins(text: string): readonly string[] {
  const origins = splitList(text);
  if (!origins.every(isOrigin)) throw new Error('must be origins such as https://tools.example.com, comma-separated');
  return origins;
}

/** Returns whether the text is an origin as browsers send it: in lower case, without default port and last slash. */
export function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** Returns the entries. @throws Error that names the first entry that is neither an address nor a CIDR range */
export function parseNetworks(text: string): readonly string[] {
  return splitList(text).map((entry) => {
    const [address = '', prefix = '0', ...more] = entry.split('/');
    const version = isIP(address);
    const isPrefix = /^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128);
    if (version === 0 || !isPrefix || more.length > 0)
      throw new Error(`${entry} is neither an IP address nor a CIDR range`);
    return entry;
  });
}

/**
 * Returns the lines of a file. A file that was cut within a line could otherwise say something else: a line of
 * `OPERATORS_FILE` without its `passkey`, or one of `ADMIN_KEYS_FILE` without its rights.
 */
export function splitLines(text: string): string[] {
  if (text !== '' && !text.endsWith('\n')) {
    throw new Error('must end with a line end: its last line may be incomplete');
  }
  return text.split(/\r?\n/);
}

export function splitList(text: string): string[] {
  return text.split(',').map((entry) => entry.trim());
}

export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  };
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
/** 15 minutes, the life of a session without renewals. */
const MIN_SESSION_MAX_AGE_SECONDS = 900;
const MAX_SESSION_MAX_AGE_SECONDS = 365 * 86_400;

/** Returns seconds. */
export function parseSessionMaxAge(text: string): number {
  const [, digits, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? [];
  const seconds = Number(digits) * (UNIT_SECONDS[unit] ?? Number.NaN);
  if (!(seconds >= MIN_SESSION_MAX_AGE_SECONDS && seconds <= MAX_SESSION_MAX_AGE_SECONDS)) {
    throw new Error('must be 15m to 365d, such as 12h');
  }
  return seconds;
}

export function parseBoolean(text: string): boolean {
  return parseOneOf(['true', 'false'])(text) === 'true';
}

export function parseOneOf(values: readonly string[]): (text: string) => string {
  return (text) => {
    if (!values.includes(text)) throw new Error(`must be one of ${values.join(', ')}`);
    return text;
  };
}

function parseWebUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || text.includes('#')) {
    throw new Error('must be an absolute http or https URL without fragment');
  }
  return url;
}
