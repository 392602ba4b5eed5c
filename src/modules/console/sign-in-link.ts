/** Links that sign an operator in without an e-mail. Everyone who can read the encryption key of the server can create them. */
import { openToken, sealToken } from '../../domain/crypto/aes-gcm.ts';
import type { ConsoleKeys } from './keys.ts';

export const LINK_MINUTES = 15;
const PURPOSE = 'console link';
/** The length of the nonce at the start of the token. It is unique, so it identifies the link. */
// Equivalent: limit: a longer part identifies it, too
const NONCE_CHARACTERS = 16;

export interface SignInLink {
  readonly id: string;
  readonly email: string;
}

/** Returns a short URL that works for some minutes. The console accepts it once. */
export function createSignInLink(keys: ConsoleKeys, consoleUrl: string, email: string, now: Date): string {
  const endsAt = Math.floor((now.getTime() + LINK_MINUTES * 60_000) / 1_000);
  return `${consoleUrl}/callback?link=${sealToken(keys, `${endsAt.toString(36)} ${email}`, PURPOSE)}`;
}

/** Returns undefined unless the link was created with one of the keys, and still works. */
export function openSignInLink(keys: ConsoleKeys, token: string, now: Date): SignInLink | undefined {
  const [, endsAt = '', email = ''] = /^(\w+) (.*)$/.exec(openToken(keys, token, PURPOSE) ?? '') ?? [];
  if (!(now.getTime() < Number.parseInt(endsAt, 36) * 1_000)) return undefined;
  return { id: token.slice(0, NONCE_CHARACTERS), email };
}
