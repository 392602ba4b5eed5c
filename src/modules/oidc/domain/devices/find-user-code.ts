import { loginIntents } from '../../../../database/schema/intent-schema.ts';
import { p, statement } from '../../../../database/sql/template.ts';
import type { Call } from '../../../../domain/core/call.ts';
import { returnNetworkPermits, type SharedLimit, takeNetworkPermits } from '../../../../domain/login/rate-limit.ts';
import type { TokenKeys } from '../tokens/token-keys.ts';
import { digestUserCode } from './device-codes.ts';

const MINUTE_MS = 60_000;
/** The second limit bounds those of a network that has very many IPv6 prefixes. */
const WRONG_CODES: SharedLimit = {
  subject: 'wrong user codes',
  perNetwork: { burst: 10, intervalMs: 6 * MINUTE_MS },
  perSite: { burst: 100, intervalMs: 0.6 * MINUTE_MS },
};

/**
 * Returns the ID of the open login with this user code, or what went wrong. A wrong code takes a permit of the network.
 * It is taken before the code is looked up, so that guesses at the same time do not exceed the limit.
 */
export async function findUserCode(
  call: Call,
  { deviceCode: keys }: Pick<TokenKeys, 'deviceCode'>,
  { code, address }: { readonly code: string; readonly address: string },
): Promise<{ readonly loginIntentId: string } | 'wrong' | 'too many'> {
  if (!(await takeNetworkPermits(call, { keys }, address, WRONG_CODES))) return 'too many';
  const digests = digestUserCode(keys, code).map((digest) => digest.toString('hex'));
  const found = await call.run(selectOpenLogin, { digests, now: call.now });
  const [login] = found;
  // Two logins may have the same code, by chance. Nobody knows then which device the person has.
  if (!login || found.length > 1) return 'wrong';
  await returnNetworkPermits(call, { keys }, address, WRONG_CODES);
  return { loginIntentId: login.id };
}

const selectOpenLogin = statement('select_login_of_user_code', { id: loginIntents.id })`
  select id from login_intents
  where user_code_digest = any(array(select decode(hex, 'hex') from unnest(${p.texts('digests')}) as hex))
    and expires_at > ${p.instant('now')} and approved is null`;
