/**
 * Muted addresses get no codes that strangers ask for. Every e-mail with a code has a link that mutes the address of
 * its recipient.
 */
import { timingSafeEqual } from 'node:crypto';
import { and, gt } from 'drizzle-orm';
import { type Statement, whereEqual } from '../../database/database.ts';
import { mutedAddresses } from '../../database/login-schema.ts';
import { p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { foldEmail } from './known-origins.ts';
import { hmac, type LoginCodeKeys } from './login-code.ts';

const LIFETIME_MS = 24 * 60 * 60_000;
const KEY_BYTES = 16;
const MAC_BYTES = 8;
/** 24 bytes in base64url. */
const TOKEN = /^[\w-]{32}$/;

/** Returns the token of the link that mutes the address. It works until its encryption key is removed. */
export function createMuteToken([key]: LoginCodeKeys, email: string): string {
  const address = digestAddress(key, email);
  return Buffer.concat([address, authenticate(key, address)]).toString('base64url');
}

/** Mutes the address of the token for 24 hours from now. Returns false if Usher did not create the token. */
export async function muteAddress({ run, now }: Call, keys: LoginCodeKeys, token: string): Promise<boolean> {
  const key = readMuteToken(keys, token);
  if (key) await run(upsertMute, { key, expiresAt: new Date(now.getTime() + LIFETIME_MS) });
  return key !== undefined;
}

/** Returns the end of the mute: null if the address is not muted, undefined if Usher did not create the token. */
export async function findMute(call: Call, keys: LoginCodeKeys, token: string): Promise<Date | null | undefined> {
  const key = readMuteToken(keys, token);
  return key && (await selectUntil(call, key));
}

/** Looks under every key, because a link from before a key rotation still works. */
export async function isMuted(call: Call, keys: LoginCodeKeys, email: string): Promise<boolean> {
  const found = await Promise.all(keys.map((key) => selectUntil(call, digestAddress(key, email))));
  return found.some((until) => until !== null);
}

async function selectUntil({ run, now }: Call, key: Buffer): Promise<Date | null> {
  const [mute] = await run(selectMute, { key, now });
  return mute?.expiresAt ?? null;
}

/** Returns the digest of the address in the token, or undefined if none of the keys authenticates the token. */
function readMuteToken(keys: LoginCodeKeys, token: string): Buffer | undefined {
  if (!TOKEN.test(token)) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  const address = bytes.subarray(0, KEY_BYTES);
  const isOurs = keys.some((key) => timingSafeEqual(authenticate(key, address), bytes.subarray(KEY_BYTES)));
  return isOurs ? address : undefined;
}

/** Returns an HMAC, from which nobody without the key can find the address by trying. */
function digestAddress(key: Buffer | undefined, email: string): Buffer {
  return hmac(key, `muted: ${foldEmail(email)}`).subarray(0, KEY_BYTES);
}

/** Returns a MAC over the digest. Without it, strangers could fill the table with made-up digests. */
function authenticate(key: Buffer | undefined, address: Buffer): Buffer {
  return hmac(key, `link that mutes ${address.toString('hex')}`).subarray(0, MAC_BYTES);
}

const selectMute: Statement<{ expiresAt: Date }[]> = (db) =>
  db
    .select({ expiresAt: mutedAddresses.expiresAt })
    .from(mutedAddresses)
    .where(and(whereEqual(mutedAddresses, 'key'), gt(mutedAddresses.expiresAt, p.instant('now'))))
    .prepare('select_muted_address');

const upsertMute = statement('upsert_muted_address')`
  insert into muted_addresses (key, expires_at) values (${p.bytes('key')}, ${p.instant('expiresAt')})
  on conflict (key) do update set expires_at = excluded.expires_at`;
