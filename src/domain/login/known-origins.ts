/** Remembers the browsers and networks in which somebody has signed in with an e-mail address. */
import { domainToASCII, domainToUnicode } from 'node:url';
import { knownOrigins } from '../../database/schema/login-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import type { Browser } from '../sessions/browser.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { hmac, type LoginCodeKeys } from './login-code.ts';
import { networkOf } from './network.ts';

const LIFETIME_MS = 180 * 24 * 60 * 60_000;

/** How well an e-mail address is known here: in this browser, in its network, or neither. */
export type Familiarity = 'browser' | 'network' | 'stranger';

export async function findFamiliarity(
  { run, now }: Call,
  keys: LoginCodeKeys,
  browser: Browser,
  email: string,
): Promise<Familiarity> {
  const known = await Promise.all(
    keys.map(async (key) => {
      const digests = digestOrigins(key, browser, email);
      const rows = await run(selectOrigins, { ...digests, now });
      return { isAnyKnown: rows.length > 0, isBrowserKnown: rows.some((row) => row.key.equals(digests.browser)) };
    }),
  );
  if (known.some(({ isBrowserKnown }) => isBrowserKnown)) return 'browser';
  return known.some(({ isAnyKnown }) => isAnyKnown) ? 'network' : 'stranger';
}

/** Remembers the browser and its network for 180 days. */
export async function rememberOrigin(
  call: Call,
  [key]: LoginCodeKeys,
  browser: Browser,
  user: { readonly userId: string; readonly email: string },
): Promise<void> {
  const { userId, email } = user;
  const expiresAt = new Date(call.now.getTime() + LIFETIME_MS);
  await call.run(upsertOrigins, { ...digestOrigins(key, browser, email), userId, expiresAt });
  await removeIfErased(call, userId);
}

function digestOrigins(key: Buffer | undefined, { digest, address }: Browser, email: string) {
  const digestOf = (origin: string) => hmac(key, `${foldEmail(email)} signed in from ${origin}`);
  return { browser: digestOf(digest.toString('hex')), network: digestOf(networkOf(address)) };
}

/**
 * Returns the same text for all spellings of an address. Mail servers differ in which characters they ignore, so it
 * errs on the side of treating different addresses as one.
 */
export function foldEmail(email: string): string {
  // Removes soft hyphens, joiners and fillers.
  const visible = email.replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '');
  const [local = '', domain = ''] = visible.split('@');
  // The spelling of DNS. It is empty for a domain that URLs do not allow, which may have a mail server nevertheless.
  const decoded = domainToUnicode(domainToASCII(domain)) || domain;
  const folded = `${local}@${decoded.replace(/\.+$/, '')}`.normalize('NFKD').toLowerCase();
  return folded.replace(/\p{M}/gu, '').toUpperCase();
}

const selectOrigins = statement('select_known_origins', { key: knownOrigins.key })`
  select key from known_origins
  where key in (${p.bytes('browser')}, ${p.bytes('network')}) and expires_at > ${p.instant('now')}`;

const upsertOrigins = statement('upsert_known_origins')`
  insert into known_origins (key, user_id, expires_at)
  values (${p.bytes('browser')}, ${p.uuid('userId')}, ${p.instant('expiresAt')}),
    (${p.bytes('network')}, ${p.uuid('userId')}, ${p.instant('expiresAt')})
  on conflict (key) do update set user_id = excluded.user_id, expires_at = excluded.expires_at`;
