/** Finds typing errors in e-mail addresses. Usher cannot say that an address is unknown: that would reveal who is a user. */
import { isOneEditAway } from '../config/is-one-edit-away.ts';

/** Large providers. A domain that differs from one of them by one edit is more likely a typing error than another provider. */
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
 * Returns the address at the large provider whose domain is one edit away: `ada@gmail.com` for `ada@gmial.com`. Returns
 * undefined unless there is exactly one, and if the domain is that of a large provider itself.
 */
export function suggestAddress(email: string): string | undefined {
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1).toLowerCase();
  if (at < 1 || PROVIDERS.includes(domain)) return undefined;
  const [provider, other] = PROVIDERS.filter((candidate) => isOneEditAway(domain, candidate));
  return provider && !other ? email.slice(0, at + 1) + provider : undefined;
}
