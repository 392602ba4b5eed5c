import { createHmac } from 'node:crypto';
import { loginIntents } from '../../../../database/schema/intent-schema.ts';
import { p, statement } from '../../../../database/sql/template.ts';
import type { Call } from '../../../../domain/core/call.ts';
import { networkOf, siteOf } from '../../../../domain/login/network.ts';
import { type RateLimit, returnPermit, takePermit } from '../../../../domain/login/rate-limit.ts';
import type { TokenKeys } from '../tokens/token-keys.ts';
import { digestUserCode } from './device-codes.ts';

const MINUTE_MS = 60_000;
/** Wrong codes. The second limit bounds those of a network that has very many IPv6 prefixes. */
const PER_NETWORK: RateLimit = { burst: 10, intervalMs: 6 * MINUTE_MS };
const PER_SITE: RateLimit = { burst: 100, intervalMs: 0.6 * MINUTE_MS };

/**
 * Returns the ID of the open login with this user code, or what went wrong. A wrong code takes a permit of the network.
 * It is taken before the code is looked up, so that guesses at the same time do not exceed the limit.
 */
export async function findUserCode(
  call: Call,
  { deviceCode: keys }: Pick<TokenKeys, 'deviceCode'>,
  { code, address }: { readonly code: string; readonly address: string },
): Promise<{ readonly loginIntentId: string } | 'wrong' | 'too many'> {
  const [key] = keys;
  if (!key) throw new Error('There is no key for user codes');
  const bucketOf = (place: string) => createHmac('sha256', key).update(`wrong user codes: ${place}`).digest();
  const limits = [
    [bucketOf(networkOf(address)), PER_NETWORK],
    [bucketOf(siteOf(address)), PER_SITE],
  ] as const;
  for (const [bucket, limit] of limits) if (!(await takePermit(call, bucket, limit))) return 'too many';
  const digests = digestUserCode(keys, code).map((digest) => digest.toString('hex'));
  const found = await call.run(selectOpenLogin, { digests, now: call.now });
  const [login] = found ?? [];
  // Two logins may have the same code, by chance. Nobody knows then which device the person has.
  if (!login || found.length > 1) return 'wrong';
  for (const [bucket, limit] of limits) await returnPermit(call, bucket, limit);
  return { loginIntentId: login.id };
}

const selectOpenLogin = statement('select_login_of_user_code', { id: loginIntents.id })`
  select id from login_intents
  where user_code_digest = any(array(select decode(hex, 'hex') from unnest(${p.texts('digests')}) as hex))
    and expires_at > ${p.instant('now')} and approved is null and redeemed_at is null`;
