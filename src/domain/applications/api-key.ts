/** The text of an API key: `usk_`, 256 random bits and a checksum, both in base62. */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { type SQLWrapper, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';

const PREFIX = 'usk_';
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const FORM = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function generateApiKey(): string {
  const secret = toBase62(BigInt(`0x${randomBytes(32).toString('hex')}`));
  return PREFIX + secret + checksumOf(PREFIX + secret);
}

/** Returns whether the text is a well-formed API key. Its checksum reveals a mistyped key without a look-up. */
export function isApiKey(text: string): boolean {
  return FORM.test(text) && checksumOf(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH);
}

/** Returns the SHA-256 of the key in hex. Only this is stored. */
export function digestOf(apiKey: string): string {
  return hash('sha256', apiKey, 'hex');
}

/** Uses no big integers, because every request has a key to check. */
function checksumOf(text: string): string {
  let digits = '';
  for (let rest = crc32(text); digits.length < CHECKSUM_LENGTH; rest = Math.floor(rest / 62))
    digits = BASE62[rest % 62] + digits;
  return digits;
}

function toBase62(value: bigint): string {
  let digits = '';
  for (let rest = value; digits.length < SECRET_LENGTH; rest /= 62n) digits = BASE62[Number(rest % 62n)] + digits;
  return digits;
}

/** Returns a new key, and the ID and the digest that are stored for it. */
export function newApiKey() {
  const apiKey = generateApiKey();
  return { apiKey, apiKeyId: randomUUID(), digest: Buffer.from(digestOf(apiKey), 'hex') };
}

/** The name of a key that its creator has not named: that of its application, and the day. Parameter: now. */
export const defaultKeyName = (applicationName: SQLWrapper) =>
  sql`${applicationName} || ' ' || to_char(${p.instant('now')} at time zone 'utc', 'YYYY-MM-DD')`;
