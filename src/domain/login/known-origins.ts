/** Remembers the browsers and networks in which somebody has signed in with an e-mail address. */
import type { KeyObject } from 'node:crypto';
import { domainToASCII, domainToUnicode } from 'node:url';
import { type SQL, sql } from 'drizzle-orm';
import { knownOrigins } from '../../database/schema/login-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { hmac } from '../crypto/derived-keys.ts';
import type { Browser } from '../sessions/browser.ts';
import { removeIfErased } from '../users/personal-data.ts';
import type { LoginCodeKeys } from './login-code.ts';
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

/** Returns the keys of the browser and its network, and of the browser alone, in hex. */
export function originKeysOf(keys: LoginCodeKeys, browser: Browser, email: string) {
  const digests = keys.map((key) => digestOrigins(key, browser, email));
  const browserKeys = digests.map((digest) => digest.browser.toString('hex'));
  return { browserKeys, originKeys: [...browserKeys, ...digests.map(({ network }) => network.toString('hex'))] };
}

/** Remembers the browser and its network for 180 days. */
export async function rememberOrigin(
  call: Call,
  keys: LoginCodeKeys,
  browser: Browser,
  user: { readonly userId: string; readonly email: string },
): Promise<void> {
  const { userId, email } = user;
  await call.run(insertOrigins, { ...originParameters(call, keys, browser, email), userId });
  await removeIfErased(call, userId);
}

/** Returns the parameters of `upsertOrigins`, without `userId`. */
export function originParameters({ now }: Pick<Call, 'now'>, [key]: LoginCodeKeys, browser: Browser, email: string) {
  return { ...digestOrigins(key, browser, email), originsExpireAt: new Date(now.getTime() + LIFETIME_MS) };
}

function digestOrigins(key: KeyObject | undefined, { digest, address }: Browser, email: string) {
  const folded = foldEmail(email);
  const digestOf = (origin: string) => hmac(key, `${folded} signed in from ${origin}`);
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

/** Returns an insert, or an update, of both origins for each row of `from`. */
export const upsertOrigins = (from: SQL = sql``) => sql`
  insert into known_origins (key, user_id, expires_at)
  select unnest(array[${p.bytes('browser')}, ${p.bytes('network')}]), ${p.uuid('userId')}, ${p.instant('originsExpireAt')} ${from}
  on conflict (key) do update set user_id = excluded.user_id, expires_at = excluded.expires_at`;

const insertOrigins = statement('upsert_known_origins')`${upsertOrigins()}`;
