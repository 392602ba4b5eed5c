/** The rules for the URL of a webhook that need no look-up of its host. */
import { isIP } from 'node:net';
import type { AddressPolicy } from './address-policy.ts';

/** Returns the message of a violation, or undefined. Each attempt checks the addresses to which the host resolves. */
export function findUrlProblem(text: string, policy: AddressPolicy): string | undefined {
  if (!URL.canParse(text)) return 'must be an absolute http or https URL';
  const url = new URL(text);
  const host = hostOf(url);
  const isAddress = isIP(host) !== 0;
  if (url.username || url.password) return 'must not have user information';
  // Services that do not speak HTTP listen on the low ports.
  const port = Number(url.port || 443);
  if (port < 1024 && port !== 80 && port !== 443) return 'must have port 80, 443 or one from 1024';
  if (isAddress && !policy.allows(host)) return 'must have a public address';
  // RFC 6761: names below localhost are this machine.
  if (/(^|\.)localhost\.?$/.test(host) && !policy.allows('127.0.0.1')) return 'must have a public address';
  const mayBePlain = isAddress ? policy.isException(host) : policy.hasExceptions;
  if (url.protocol !== 'https:' && !mayBePlain) return 'must be an https URL';
  return undefined;
}

/** Returns the host of a URL without the brackets of an IPv6 address. The URL parser has made it canonical. */
export function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
