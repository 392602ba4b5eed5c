import { hash, randomBytes, randomUUID } from 'node:crypto';
import { walletChallenges } from '../../../database/schema/login-schema.ts';
import { placeholdersOf, type Statement } from '../../../database/sql/statement.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { check, textThat, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { requireOpenIntent } from '../../../domain/login/login-intent.ts';
import { takePermit } from '../../../domain/login/rate-limit.ts';
import { requireRecentSignIn } from '../../../domain/login/recent-sign-in.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { formatSignInMessage } from './ethereum.ts';

const LIFETIME_MS = 10 * 60_000;
const CHALLENGES_PER_INTENT = { burst: 20, intervalMs: 3 * 60_000 };

const addressRules = {
  address: textThat((address) => /^0x[0-9a-f]{40}$/i.test(address), 'must be an Ethereum address', {
    // Equivalent: limit: no other length is an address
    max: 42,
    format: 'ethereum-address',
  }),
};

const rules = { loginIntentId: uuid, ...addressRules };

interface ChallengeSettings {
  readonly chainId: number;
  readonly authPageUrl: string;
}

/**
 * Creates the message (EIP-4361) that the wallet must sign within 10 minutes. Its signature completes the login in this
 * browser only.
 *
 * @throws ServiceError `Too many challenges`, and as `requireOpenIntent` does
 */
export async function createWalletChallenge(
  call: Call,
  settings: ChallengeSettings,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<{ message: string }> {
  const { loginIntentId, address } = check(request, rules);
  const { applicationId, applicationName } = await requireOpenIntent(call, loginIntentId, 'wallet');
  const statement = `Sign in to ${applicationName}.`;
  return createMessage(call, settings, browser, { applicationId, loginIntentId, address, statement });
}

/**
 * Creates the message that the wallet must sign, for the user who has just signed in with this intent in this browser.
 *
 * @throws ServiceError `Too many challenges`, and as `requireRecentSignIn` does
 */
export async function createLinkMessage(
  call: Call,
  settings: ChallengeSettings,
  browser: Browser,
  { loginIntentId: given, ...request }: Unchecked<'loginIntentId' | keyof typeof addressRules>,
): Promise<{ message: string }> {
  const { address } = check(request, addressRules);
  const { applicationId, loginIntentId } = await requireRecentSignIn(call, browser, { loginIntentId: given });
  return createMessage(call, settings, browser, {
    applicationId,
    loginIntentId,
    address,
    statement: 'Link this wallet to your account.',
  });
}

/**
 * Creates a message to sign. The wallet shows its `statement` to the person.
 *
 * @throws ServiceError `Too many challenges`
 */
async function createMessage(
  call: Call,
  { authPageUrl, chainId }: ChallengeSettings,
  browser: Browser,
  { applicationId, loginIntentId, statement, ...request }: Readonly<Record<MessageField, string>>,
): Promise<{ message: string }> {
  const address = request.address.toLowerCase();
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
    statement,
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

type MessageField = 'applicationId' | 'loginIntentId' | 'address' | 'statement';

const insertChallenge: Statement<unknown> = (db) =>
  db.insert(walletChallenges).values(placeholdersOf(walletChallenges)).prepare('insert_wallet_challenge');
