/**
 * Lists of e-mail domains. An entry matches the domain in every spelling, and its sub-domains: `example.com` also
 * matches `ada@mail.EXAMPLE.com.`.
 */
import { isIP } from 'node:net';
import { toDomainKey } from './email-address.ts';
import { splitLines } from './parse-setting.ts';

const DOMAIN = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/** Returns the entry of a list, as A-labels in lower case. Returns undefined for a text that is no domain. */
export function toListedDomain(text: string): string | undefined {
  const domain = toDomainKey(text).replace(/\.$/, '');
  return DOMAIN.test(domain) ? domain : undefined;
}

/** Returns every entry that matches the address: its domain and all parents of that. */
export function listMatchingDomains(email: string): string[] {
  const domain = toDomainKey(email.slice(email.lastIndexOf('@') + 1)).replace(/\.+$/, '');
  const labels = domain.split('.');
  return labels.map((_, index) => labels.slice(index).join('.'));
}

/** Reads a file with a domain per line. `#` begins a comment. @throws Error whose message continues the name of the setting */
export function parseEmailDomains(text: string): readonly string[] {
  return splitLines(text).flatMap((line, index) => {
    const entry = line.replace(/#.*/, '').trim();
    if (entry === '') return [];
    const domain = toListedDomain(entry);
    if (domain === undefined || isIP(domain) !== 0)
      throw new Error(`must hold a domain per line, such as example.com: line ${index + 1}`);
    return [domain];
  });
}
