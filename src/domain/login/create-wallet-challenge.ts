import { hash, randomBytes, randomUUID } from 'node:crypto';
import { placeholders, type Statement } from '../../database/database.ts';
import { walletChallenges } from '../../database/login-schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, textThat, type Unchecked, uuid } from '../validation.ts';
import type { Browser } from './browser.ts';
import { formatSignInMessage } from './ethereum.ts';
import { requireOpenIntent } from './login-intent.ts';
import { takePermit } from './rate-limit.ts';

const LIFETIME_MS = 10 * 60_000;
const CHALLENGES_PER_INTENT = { burst: 20, intervalMs: 3 * 60_000 };

const rules = {
  loginIntentId: uuid,
  address: textThat((address) => /^0x[0-9a-f]{40}$/i.test(address), 'must be an Ethereum address', {
    max: 42,
    format: 'ethereum-address',
  }),
};

/**
 * Creates the message (EIP-4361) that the wallet must sign within 10 minutes to complete the login in this
 * browser. `authPageUrl` is the URL of the login page; contract wallets sign for the chain.
 *
 * @throws ServiceError `Too many challenges`, and as `requireOpenIntent` does
 */
export async function createWalletChallenge(
  call: Call,
  { authPageUrl, chainId }: { readonly authPageUrl: string; readonly chainId: number },
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<{ message: string }> {
  const { loginIntentId, ...checked } = check(request, rules);
  const address = checked.address.toLowerCase();
  const { applicationId, applicationName } = await requireOpenIntent(call, loginIntentId, 'wallet');
  const bucket = hash('sha256', `messages to sign for ${loginIntentId}`, 'buffer');
  if (!(await takePermit(call, bucket, CHALLENGES_PER_INTENT))) {
    throw new ServiceError('TOO_MANY_CHALLENGES');
  }
  const expiresAt = new Date(call.now.getTime() + LIFETIME_MS);
  const message = formatSignInMessage({
    domain: new URL(authPageUrl).host,
    address,
    uri: authPageUrl,
    chainId,
    applicationName,
    nonce: randomBytes(16).toString('hex'),
    issuedAt: call.now,
    expiresAt,
    requestId: loginIntentId,
  });
  await call.run(insertChallenge, {
    applicationId,
    loginIntentId,
    id: randomUUID(),
    browserDigest: browser.digest,
    address,
    message,
    createdAt: call.now,
    expiresAt,
  });
  return { message };
}

const insertChallenge: Statement<unknown> = (db) =>
  db
    .insert(walletChallenges)
    .values(
      placeholders(
        'applicationId',
        'loginIntentId',
        'id',
        'browserDigest',
        'address',
        'message',
        'createdAt',
        'expiresAt',
      ),
    )
    .prepare('insert_wallet_challenge');
