/** The tokens in the links of notices: encrypted, because they may hold e-mail addresses, and good for `LINK_DAYS`. */
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { openToken, sealToken } from '../crypto/aes-gcm.ts';
import type { DerivedKeys } from '../crypto/derived-keys.ts';
import { LINK_DAYS } from './due-notices.ts';

const LIFETIME_MS = LINK_DAYS * DAY_MS;

/** Returns a token for one purpose, with the instant of the notice. */
export function createNoticeToken(keys: DerivedKeys, purpose: string, facts: readonly string[], at: Date): string {
  return sealToken(keys, JSON.stringify([...facts, at.getTime() + LIFETIME_MS]), purpose);
}

/** Returns what the token holds. Undefined for an invalid token, that of another purpose, and after its lifetime. */
export function readNoticeToken(
  keys: DerivedKeys,
  purpose: string,
  token: string,
  now: Date,
): { readonly facts: readonly string[]; readonly at: Date } | undefined {
  const text = openToken(keys, token, purpose);
  if (text === undefined) return undefined;
  const facts = JSON.parse(text);
  const expiresAt: number = facts.pop();
  return now.getTime() < expiresAt ? { facts, at: new Date(expiresAt - LIFETIME_MS) } : undefined;
}
