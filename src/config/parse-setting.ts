/** Parsers of settings. Each throws an Error whose message continues the name of the setting. */
import { isIP } from 'node:net';
import { parseDatabaseUrl } from './database-url.ts';
import { canonicalizeDomain, canonicalizeEmail } from './email-address.ts';
import { isLoginMethod, METHODS_RULE, PROVIDER_ID } from './login-methods.ts';

/** Checks the URL and returns its text: the parts of Usher that connect parse it themselves. */
export function parseDatabaseUrlText(text: string): string {
  if (/\p{Cc}|^\s|\s$/u.test(text)) throw new Error('must be a postgres:// URL without line ends');
  parseDatabaseUrl(text);
  return text;
}

export function parseSchema(text: string): string {
  if (!/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/.test(text))
    throw new Error('must be a name of lower-case letters, digits and _ that does not begin with pg_');
  if (text === 'information_schema') throw new Error('must not be information_schema');
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

export function parseSmtpUrl(text: string): string {
  // The URL parser checks the host of web schemes only.
  const url = /^smtps?:\/\//.test(text) ? readWebUrl(text.replace('smtp', 'http')) : undefined;
  if (!url) throw new Error('must be an smtp:// or smtps:// URL');
  if (!url.searchParams.getAll('name').every((name) => isHost(name))) throw new Error('must have a host in ?name=');
  return text;
}

/** Accepts an address, or a name with an address in angle brackets. */
export function parseMailFrom(text: string): string {
  const [, inBrackets, address = inBrackets ?? ''] = /^(?:[^<>\p{Cc}]*<([^<>]+)>|([^<>]+))$/u.exec(text) ?? [];
  const isAddress =
    /^[^\s\p{C}@<>()[\]\\,;:"]{1,64}@[^@]{1,253}$/u.test(address) && isHostName(address.replace(/.*@/, ''));
  if (!isAddress || canonicalizeEmail(address) === undefined) {
    throw new Error('must be an e-mail address, such as login@example.com');
  }
  return text;
}

/** Accepts what a server can listen on: an IP address, or the name of a host. */
export function parseHost(text: string): string {
  if (!isHost(text)) throw new Error('must be an IP address or the name of a host');
  return text;
}

export function parseDirectory(text: string): string {
  if (/\p{Cc}|^\s|\s$/u.test(text)) throw new Error('must be the path of a directory');
  return text;
}

/** Returns the normalised URL of a proxy, which has no page, and may have credentials. */
export function parseProxyUrl(text: string): string {
  const { href, username, password, pathname, search } = parseWebUrl(text);
  try {
    decodeURIComponent(username + password);
  } catch {
    throw new Error('must have percent-encoded credentials');
  }
  if (pathname !== '/' || search !== '') throw new Error('must have neither path nor query');
  return href;
}

/** Returns methods of Usher itself and IDs of providers, mixed as in the text. */
export function parseLoginMethods(text: string): readonly string[] {
  const methods = splitSet(text);
  if (!methods.every((name) => isLoginMethod(name) || PROVIDER_ID.test(name))) throw new Error(METHODS_RULE);
  // Users who lose their passkey need another way to sign in.
  if (methods.every((method) => method === 'passkey')) throw new Error('must have another method besides passkey');
  return methods;
}

/** Returns origins in the form of the `Origin` header. */
export function parseOrigins(text: string): readonly string[] {
  const origins = splitSet(text);
  if (!origins.every(isOrigin)) throw new Error('must be origins such as https://tools.example.com, comma-separated');
  return origins;
}

/** Returns whether the text is an origin as browsers send it: in lower case, without default port and last slash. */
export function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** Returns the entries. @throws Error that names the first entry that is neither an address nor a CIDR range */
export function parseNetworks(text: string): readonly string[] {
  return splitSet(text).map((entry) => {
    const [address = '', prefix = '0', ...more] = entry.split('/');
    const version = address.includes('%') ? 0 : isIP(address);
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

/** Returns the entries of a list in which each may be once. */
export function splitSet(text: string): string[] {
  const entries = splitList(text);
  const repeated = entries.find((entry, index) => entry !== '' && entries.indexOf(entry) < index);
  if (repeated !== undefined) throw new Error(`must not name ${repeated} twice`);
  return entries;
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

/** Returns seconds. */
export function parseSingleSignOnMaxAge(text: string): number {
  if (text === '0') return 0;
  try {
    return parseSessionMaxAge(text);
  } catch {
    throw new Error('must be 0, or 15m to 365d, such as 12h');
  }
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
  const url = readWebUrl(text);
  if (!url) throw new Error('must be an absolute http or https URL without fragment');
  return url;
}

/** Returns undefined also for what the parser of URLs would mend: white space, and `https://a.test,https://b.test`. */
function readWebUrl(text: string): URL | undefined {
  if (/[\s\p{C}#\\]/u.test(text) || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isValid = /^https?:$/.test(url.protocol) && url.port !== '0' && isHost(url.hostname.replace(/^\[|\]$/g, ''));
  return isValid ? url : undefined;
}

function isHost(text: string): boolean {
  return isIP(text) !== 0 || isHostName(text);
}

/** A name whose last label is a number would be read as an IP address. */
function isHostName(text: string): boolean {
  const labels = canonicalizeDomain(text.replace(/\.$/, '')) ?? '';
  return /^(?=.{1,253}$)(?:(?!-)[a-z0-9_-]{1,63}\.)*(?!-|\d+$)[a-z0-9_-]{1,63}$/i.test(labels);
}
