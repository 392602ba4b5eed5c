/** Where browsers allow passkeys (WebAuthn, sections 5.1.3 and 5.1.4). */
import { isIP } from 'node:net';

/** Returns whether a page at the URL can use passkeys: over https at a name, or at localhost. */
export function allowsPasskeys(publicUrl: string): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  const isName = isIP(hostname) === 0 && !hostname.startsWith('[');
  return isName && (protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost'));
}

export function isRelyingPartyOf(rpId: string, publicUrl: string): boolean {
  return `.${new URL(publicUrl).hostname}`.endsWith(`.${rpId}`);
}
