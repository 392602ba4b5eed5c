/** Finds slips in e-mail addresses. Usher reveals to nobody that an address is unknown, so this is all the help there is. */
import { isOneEditAway } from '../config/is-one-edit-away.ts';

/** Far enough from each other, and from other providers, that a slip is more likely than a different one. */
const PROVIDERS = [
  'aol.com',
  'gmail.com',
  'gmx.de',
  'gmx.net',
  'googlemail.com',
  'hotmail.com',
  'icloud.com',
  'mail.com',
  'outlook.com',
  'proton.me',
  'web.de',
  'yahoo.com',
];

/**
 * Returns the address at the one large provider whose domain is one edit away: `ada@gmail.com` for `ada@gmial.com`.
 * Returns undefined if there is none, or if the domain is that of a large provider itself.
 */
export function suggestAddress(email: string): string | undefined {
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1).toLowerCase();
  if (at < 1 || PROVIDERS.includes(domain)) return undefined;
  const [provider, other] = PROVIDERS.filter((candidate) => isOneEditAway(domain, candidate));
  return provider && !other ? email.slice(0, at + 1) + provider : undefined;
}
