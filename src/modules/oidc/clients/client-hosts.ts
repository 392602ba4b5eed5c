/** Which clients may do without a registration, by the hosts of their metadata. */
import { splitSet } from '../../../config/parse-setting.ts';
import { readClientUrl } from './client-url.ts';

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
