/** Remembers in which browsers and networks someone has signed in with an e-mail address. */
import { hash } from 'node:crypto';
import { and, eq, gt, or, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { knownOrigins } from '../../database/login-schema.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import type { Browser } from './browser.ts';
import { foldEmail } from './fold-email.ts';
import { networkOf } from './network.ts';

const LIFETIME_MS = 180 * 24 * 60 * 60_000;

export type Familiarity = 'browser' | 'network' | 'stranger';

/** Returns what is known of the origin of a request for a code. */
export async function findFamiliarity({ run, now }: Call, browser: Browser, email: string): Promise<Familiarity> {
  const keys = keysOf(browser, email);
  const known = await run(selectOrigins, { ...keys, now });
  if (known.some(({ key }) => key.equals(keys.browser))) return 'browser';
  return known.length > 0 ? 'network' : 'stranger';
}

/** Remembers the browser and its network for 180 days. */
export async function rememberOrigin({ run, now }: Call, browser: Browser, email: string): Promise<void> {
  await run(upsertOrigins, { ...keysOf(browser, email), expiresAt: new Date(now.getTime() + LIFETIME_MS) });
}

function keysOf({ digest, address }: Browser, email: string) {
  const keyOf = (origin: string) => hash('sha256', `${foldEmail(email)} signed in from ${origin}`, 'buffer');
  return { browser: keyOf(digest.toString('hex')), network: keyOf(networkOf(address)) };
}

const selectOrigins: Statement<{ key: Buffer }[]> = (db) => {
  const isKey = (name: string) => eq(knownOrigins.key, sql.placeholder(name));
  return db
    .select({ key: knownOrigins.key })
    .from(knownOrigins)
    .where(and(or(isKey('browser'), isKey('network')), gt(knownOrigins.expiresAt, instantPlaceholder('now'))))
    .prepare('select_known_origins');
};

const upsertOrigins: Statement<unknown> = (db) => {
  const row = (name: string) => ({ key: sql.placeholder(name), expiresAt: sql.placeholder('expiresAt') });
  return db
    .insert(knownOrigins)
    .values([row('browser'), row('network')])
    .onConflictDoUpdate({ target: knownOrigins.key, set: { expiresAt: sql`excluded.expires_at` } })
    .prepare('upsert_known_origins');
};
