/** Links that sign an operator in without an e-mail: whoever can read the encryption key of the server may make them. */
import { randomUUID } from 'node:crypto';
import { openToken, sealToken } from '../domain/aes-gcm.ts';
import type { ConsoleKeys } from './keys.ts';

const LIFETIME_MS = 15 * 60_000;
const PURPOSE = 'console link';

export interface SignInLink {
  readonly id: string;
  readonly email: string;
}

/** Returns the URL of a new link, which is good for 15 minutes. The console accepts it once. */
export function createSignInLink(keys: ConsoleKeys, consoleUrl: string, email: string, now: Date): string {
  const text = JSON.stringify([randomUUID(), email, now.getTime() + LIFETIME_MS]);
  return `${consoleUrl}/callback?link=${sealToken(keys, text, PURPOSE)}`;
}

/** Returns undefined unless this server has made the link in the last 15 minutes. */
export function openSignInLink(keys: ConsoleKeys, token: string, now: Date): SignInLink | undefined {
  const text = openToken(keys, token, PURPOSE);
  if (text === undefined) return undefined;
  const [id, email, endsAt] = JSON.parse(text);
  return now.getTime() < endsAt ? { id, email } : undefined;
}
