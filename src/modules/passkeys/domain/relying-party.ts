/** The login page as WebAuthn sees it: a relying party. */
import { type DerivedKeys, deriveKeys } from '../../../domain/crypto/derived-keys.ts';

export interface RelyingParty {
  /** The host of the login page, or a parent domain of it. A browser offers only passkeys with the same ID. */
  readonly rpId: string;
  /** The origin of the login page. */
  readonly origin: string;
  /** The first key signs challenges, all verify them. */
  readonly keys: DerivedKeys;
}

export function createRelyingParty(
  pageUrl: string,
  rpId: string | undefined,
  encryptionKeys: readonly Buffer[],
): RelyingParty {
  const { hostname, origin } = new URL(pageUrl);
  return { rpId: rpId ?? hostname, origin, keys: deriveKeys(encryptionKeys, 'passkey challenge') };
}
