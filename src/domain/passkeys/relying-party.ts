/** The login page as WebAuthn sees it: a relying party. */
import { deriveKeys } from '../derive-keys.ts';

export interface RelyingParty {
  /** The host of the login page or a parent of it. Browsers offer a passkey only where this is the same. */
  readonly rpId: string;
  /** The origin of the login page. */
  readonly origin: string;
  /** For challenges: the first key makes them, all verify. */
  readonly keys: readonly Buffer[];
}

export function createRelyingParty(
  pageUrl: string,
  rpId: string | undefined,
  encryptionKeys: readonly Buffer[],
): RelyingParty {
  const { hostname, origin } = new URL(pageUrl);
  return { rpId: rpId ?? hostname, origin, keys: deriveKeys(encryptionKeys, 'passkey challenge') };
}
