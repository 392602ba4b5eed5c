/**
 * Decides which addresses of a provider belong to the person. Anybody may claim any other address ("nOAuth" attacks).
 */

import { toDomainKey } from '../../../config/email-address.ts';

export type IdentityClaims = Readonly<Record<string, unknown>>;

/** Returns whether the provider itself has checked that the address belongs to the person. */
export function isEmailVerified(issuer: string, claims: IdentityClaims): boolean {
  const { host } = new URL(issuer);
  // At Microsoft, the managers of an organization can set any address. `xms_edov`: the owner of its domain is verified.
  if (host === 'login.microsoftonline.com') return isTrue(claims.xms_edov);
  if (!isTrue(claims.email_verified)) return false;
  // Google verifies addresses of other mail servers only when the account is created. They may have changed hands
  // since.
  if (host === 'accounts.google.com')
    return typeof claims.hd === 'string' || /@gmail\.com$/i.test(String(claims.email));
  return true;
}

/** Some providers send booleans as text or numbers. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true' || claim === 1 || claim === '1';
}

/** Returns whether the domain of the address is in the list. An empty list has all domains. */
export function isOfDomains(email: string, domains: readonly string[]): boolean {
  const domain = toDomainKey(email.slice(email.lastIndexOf('@') + 1));
  return domains.length === 0 || domains.some((each) => toDomainKey(each) === domain);
}
