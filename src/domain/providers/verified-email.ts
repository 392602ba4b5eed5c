/** Which addresses of a provider are known to be the person's. Anybody may claim the others (nOAuth). */

export type IdentityClaims = Readonly<Record<string, unknown>>;

/** Returns whether the provider itself has checked that the address belongs to the person. */
export function isEmailVerified(issuer: string, claims: IdentityClaims): boolean {
  const { host } = new URL(issuer);
  // Microsoft lets whoever manages an organization set any address. `xms_edov`: the domain is verified by its owner.
  if (host === 'login.microsoftonline.com') return isTrue(claims.xms_edov);
  if (!isTrue(claims.email_verified)) return false;
  // Google checks an address elsewhere once, when the account is created. It may have changed hands since.
  if (host === 'accounts.google.com')
    return typeof claims.hd === 'string' || /@gmail\.com$/i.test(String(claims.email));
  return true;
}

/** Some providers send booleans as text or numbers. */
function isTrue(claim: unknown): boolean {
  return claim === true || claim === 'true' || claim === 1 || claim === '1';
}

/** Returns whether the domain of the address is one of these, or there are none. */
export function isOfDomains(email: string, domains: readonly string[]): boolean {
  return domains.length === 0 || domains.includes(email.slice(email.lastIndexOf('@') + 1).toLowerCase());
}
