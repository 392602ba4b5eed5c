/** Client IDs that are the URL of the client's metadata: OAuth Client ID Metadata Document, draft 02, section 3. */
import { splitSet } from '../../../config/parse-setting.ts';

const MAX_LENGTH = 512;
/** In characters. Most URLs have fewer than 100. */
const MAX_LOGGED = 300;

/** Returns whether the client ID claims to be one, so that no application has it. */
export function isClientUrl(clientId: string): boolean {
  return clientId.startsWith('https://');
}

/** Returns the URL, or why the client ID is none in the spelling that everybody compares. */
function readClientUrl(clientId: string): { readonly url: URL } | { readonly problem: string } {
  if (clientId.length > MAX_LENGTH) return { problem: `it is longer than ${MAX_LENGTH} characters` };
  if (!/^https:\/\/[\x21-\x7e]+$/.test(clientId) || !URL.canParse(clientId)) return { problem: 'it is no https URL' };
  const url = new URL(clientId);
  if (url.port !== '') return { problem: `it has the port ${url.port}` };
  if (url.username !== '' || url.password !== '') return { problem: 'it has a user name or a password' };
  if (/[#\\]/.test(clientId)) return { problem: 'it has a fragment or a backslash' };
  // Without a path, all clients of a site would be one.
  if (url.pathname === '/') return { problem: 'it has no path' };
  // The parser has resolved dot segments and left out the port 443, so `href` lacks them.
  if (url.href !== clientId) return { problem: 'a URL parser writes it otherwise' };
  return { url };
}

/** Returns why Usher refuses a client, for the log. */
export function describeRefusal(clientId: string, problem: string): string {
  const host = URL.canParse(clientId) ? `host ${new URL(clientId).host}, ` : '';
  return `client refused, ${problem} (${host}client_id ${toLogged(clientId)})`;
}

/** Returns a URL for the log: cut, and without a password or the values of its query. */
export function toLogged(url: string): string {
  const known = url.replace(/\/\/[^/?#@]*@/, '//…@').replace(/=[^&#]*/g, '=…');
  return known.slice(0, MAX_LOGGED);
}

/** Which clients may do without a registration, by the hosts of their metadata. */
export interface ClientHosts {
  /** Names, in lower case. */
  readonly named: ReadonlySet<string>;
  /** What their sub-domains end with, such as `.example.com`. */
  readonly suffixes: readonly string[];
  readonly isAny: boolean;
}

/** How an operator allows a host. Only a host with a name of its own may have an internal address. */
export type HostMatch = 'named' | 'wildcard';

/** A name. Its last label is no number, because an IP address has one. */
const HOST = /^(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*(?!\d+$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/;

/** @throws Error for what is neither the name of a host nor a wildcard for its first labels */
export function parseClientHosts(text: string): ClientHosts {
  const hosts = splitSet(text.toLowerCase());
  if (!hosts.every((host) => host === '*' || HOST.test(host.replace(/^\*\./, '')))) {
    throw new Error('must be hosts by name, such as claude.ai, *.example.com or *, comma-separated');
  }
  return {
    named: new Set(hosts.filter((host) => !host.startsWith('*'))),
    suffixes: hosts.filter((host) => host.startsWith('*.')).map((host) => host.slice(1)),
    isAny: hosts.includes('*'),
  };
}

/** Returns the host of the client's URL, and how the operator allows it, or why the client may not ask. */
export function matchClient(
  hosts: ClientHosts | undefined,
  clientId: string,
): { readonly host: string; readonly match: HostMatch } | { readonly problem: string } {
  if (!hosts) return { problem: 'CLIENT_METADATA_HOSTS is not set' };
  const read = readClientUrl(clientId);
  if ('problem' in read) return read;
  const host = read.url.hostname;
  const match = matchHost(hosts, host);
  return match ? { host, match } : { problem: 'its host is not in CLIENT_METADATA_HOSTS' };
}

export function matchHost({ named, suffixes, isAny }: ClientHosts, host: string): HostMatch | undefined {
  if (named.has(host)) return 'named';
  return isAny || suffixes.some((suffix) => host.endsWith(suffix)) ? 'wildcard' : undefined;
}
