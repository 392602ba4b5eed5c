import { DAY_MS } from '../../database/schema/table-facts.ts';
import { openToken, sealToken } from '../../domain/crypto/aes-gcm.ts';
import { LINK_DAYS } from '../../domain/notices/notice-links.ts';

const LIFETIME_MS = LINK_DAYS * DAY_MS;
const PURPOSE = 'end every sign-in';

interface NewSignIn {
  readonly userId: string;
  readonly at: Date;
}

/** Returns the token of the link, which works for 7 days. */
export function createSignInsToken(keys: readonly Buffer[], userId: string, at: Date): string {
  return sealToken(keys, JSON.stringify([userId, at.getTime() + LIFETIME_MS]), PURPOSE);
}

/** Returns whose sign-ins it ends, and when the new one was. Returns undefined for an invalid token, and after 7 days. */
export function readSignInsToken(keys: readonly Buffer[], token: string, now: Date): NewSignIn | undefined {
  const text = openToken(keys, token, PURPOSE);
  if (text === undefined) return undefined;
  const [userId, expiresAt] = JSON.parse(text);
  return now.getTime() < expiresAt ? { userId, at: new Date(expiresAt - LIFETIME_MS) } : undefined;
}
