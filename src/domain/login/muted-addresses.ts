/**
 * Muted addresses get no codes that strangers ask for. Every e-mail with a code has a link to the page that mutes the
 * address of its recipient, and that ends the mute.
 */

import { type KeyObject, timingSafeEqual } from 'node:crypto';
import { and, gt } from 'drizzle-orm';
import { type Statement, whereEqual } from '../../database/pool/database.ts';
import { mutedAddresses } from '../../database/schema/login-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { hmac } from '../crypto/derived-keys.ts';
import { foldEmail } from './known-origins.ts';
import type { LoginCodeKeys } from './login-code.ts';

/** How long an address is muted. */
export const MUTE_HOURS = 24;
const HOUR_MS = 60 * 60_000;
/** How long a link works: whoever gets hold of an old e-mail cannot keep codes away from the address. */
const LINK_LIFETIME_MS = 7 * 24 * HOUR_MS;
/** A token is the digest of the address, the end of the link in seconds since 1970, and a MAC over both. */
const [KEY_BYTES, EXPIRY_BYTES, MAC_BYTES] = [16, 4, 10];
const EXPIRY_AT = KEY_BYTES + EXPIRY_BYTES;
/** 30 bytes in base64url. */
const TOKEN = /^[\w-]{40}$/;

/** Returns the token of the link that mutes the address. It works for 7 days, unless its encryption key is removed. */
export function createMuteToken([key]: LoginCodeKeys, email: string, now: Date): string {
  const end = Buffer.alloc(EXPIRY_BYTES);
  end.writeUInt32BE(Math.floor((now.getTime() + LINK_LIFETIME_MS) / 1_000));
  const link = Buffer.concat([digestAddress(key, email), end]);
  return Buffer.concat([link, authenticate(key, link)]).toString('base64url');
}

/** Mutes the address of the token for 24 hours from now. Returns false if the token is not valid. */
export async function muteAddress({ run, now }: Call, keys: LoginCodeKeys, token: string): Promise<boolean> {
  const key = readMuteToken(keys, token, now);
  if (key) await run(upsertMute, { key, expiresAt: new Date(now.getTime() + MUTE_HOURS * HOUR_MS) });
  return key !== undefined;
}

/** Ends the mute of the address. Returns false if the token is not valid. */
export async function endMute({ run, now }: Call, keys: LoginCodeKeys, token: string): Promise<boolean> {
  const key = readMuteToken(keys, token, now);
  if (key) await run(deleteMute, { key });
  return key !== undefined;
}

/** Returns the end of the mute: null if the address is not muted, undefined if the token is not valid. */
export async function findMute(call: Call, keys: LoginCodeKeys, token: string): Promise<Date | null | undefined> {
  const key = readMuteToken(keys, token, call.now);
  return key && (await selectUntil(call, key));
}

/**
 * Returns whether the address gets no e-mail that a stranger asks for. Looks under every key, because a link from before a
 * key rotation still works.
 */
export async function isMutedForStrangers(call: Call, keys: LoginCodeKeys, email: string): Promise<boolean> {
  const found = await Promise.all(keys.map((key) => selectUntil(call, digestAddress(key, email))));
  return found.some((until) => until !== null);
}

/** Returns the keys of the address, in hex: one for each key of links that still work. */
export function muteKeysOf(keys: LoginCodeKeys, email: string): readonly string[] {
  return keys.map((key) => digestAddress(key, email).toString('hex'));
}

async function selectUntil({ run, now }: Call, key: Buffer): Promise<Date | null> {
  const [mute] = await run(selectMute, { key, now });
  return mute?.expiresAt ?? null;
}

/** Returns the digest of the address in the token. Returns undefined for a forged token, and after 7 days. */
function readMuteToken(keys: LoginCodeKeys, token: string, now: Date): Buffer | undefined {
  if (!TOKEN.test(token)) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  const [link, mac] = [bytes.subarray(0, EXPIRY_AT), bytes.subarray(EXPIRY_AT)];
  const isOurs = keys.some((key) => timingSafeEqual(authenticate(key, link), mac));
  const isLive = now.getTime() < link.readUInt32BE(KEY_BYTES) * 1_000;
  return isOurs && isLive ? link.subarray(0, KEY_BYTES) : undefined;
}

/** Returns an HMAC, from which nobody without the key can find the address by trying. */
function digestAddress(key: KeyObject | undefined, email: string): Buffer {
  return hmac(key, `muted: ${foldEmail(email)}`).subarray(0, KEY_BYTES);
}

/** Returns a MAC. Without it, strangers could fill the table with made-up digests. */
function authenticate(key: KeyObject | undefined, link: Buffer): Buffer {
  return hmac(key, `link that mutes ${link.toString('hex')}`).subarray(0, MAC_BYTES);
}

const selectMute: Statement<{ expiresAt: Date }[]> = (db) =>
  db
    .select({ expiresAt: mutedAddresses.expiresAt })
    .from(mutedAddresses)
    .where(and(whereEqual(mutedAddresses, 'key'), gt(mutedAddresses.expiresAt, p.instant('now'))))
    .prepare('select_muted_address');

const deleteMute = statement('delete_muted_address')`delete from muted_addresses where key = ${p.bytes('key')}`;

const upsertMute = statement('upsert_muted_address')`
  insert into muted_addresses (key, expires_at) values (${p.bytes('key')}, ${p.instant('expiresAt')})
  on conflict (key) do update set expires_at = excluded.expires_at`;
