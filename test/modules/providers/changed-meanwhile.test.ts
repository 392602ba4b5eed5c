/** What an answer of a provider links, and whom it signs in, if the user changes between two of its statements. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { Database, type PlaceholderValues, type Run } from '../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../src/domain/audit/audit-event.ts';
import type { Call } from '../../../src/domain/core/call.ts';
import { linkIdentity } from '../../../src/domain/identities/link-identity.ts';
import { deriveLoginCodeKeys } from '../../../src/domain/login/login-code.ts';
import { SignUpRules } from '../../../src/domain/login/sign-up-rules.ts';
import { AuthTokens } from '../../../src/domain/tokens/auth-tokens.ts';
import { BY_CODE } from '../../../src/domain/users/counts-from.ts';
import { markEmailVerified } from '../../../src/domain/users/mark-email-verified.ts';
import { redeemProviderAnswer } from '../../../src/modules/providers/domain/redeem-provider-answer.ts';
import type { LoginProvider } from '../../../src/modules/providers/parse-login-providers.ts';
import { LAYOUT } from '../../support/database.ts';
import { newBrowser } from '../../support/new-browser.ts';
import {
  createLoginIntent,
  createTenant,
  createTestUser,
  startTestService,
  type TestUser,
} from '../../support/service.ts';

const service = await startTestService();
const database = new Database(service.database.url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await service.close();
});
const { sql } = service.database;
const tenant = await createTenant(service);
const { authSigningKeys = [], encryptionKeys = [] } = service.config.secrets;
const parts = {
  tokens: await AuthTokens.create('https://usher.test', authSigningKeys),
  codes: { keys: deriveLoginCodeKeys(encryptionKeys), limitFactor: 1 },
  signUps: new SignUpRules(),
  hasEmail: true,
};
const provider: LoginProvider = {
  id: 'acme',
  name: 'Acme',
  type: 'openid',
  issuer: 'https://acme.test',
  clientId: 'usher',
  clientSecret: 'secret',
  trustEmail: true,
  emailDomains: [],
};

let user: TestUser;
let identity: { issuer: string; subject: string; provider: string };
beforeEach(async () => {
  user = await createTestUser(service);
  identity = { issuer: provider.issuer, subject: randomUUID(), provider: provider.id };
});

type Change = () => Promise<unknown>;

/** Returns a call in which the change comes just before the first statement with such parameters. */
function callWith(change: Change, isNext: (parameters: PlaceholderValues) => boolean): Call {
  const now = new Date();
  const audited = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
  let isDone = false;
  const run: Run = async (statement, parameters) => {
    if (!isDone && isNext(parameters)) {
      isDone = true;
      await change();
    }
    return audited(statement, parameters);
  };
  return { now, run };
}

const completes = (parameters: PlaceholderValues) => 'answerDigest' in parameters;
const links = (parameters: PlaceholderValues) => 'emails' in parameters && 'subject' in parameters;
const cleansUp = (parameters: PlaceholderValues) => Object.keys(parameters).join() === 'userId';

async function signIn(call: Call) {
  const subjectId = await createLoginIntent(service, tenant);
  const secretsOfState = { state: '', nonce: '', codeVerifier: '' };
  const authorization = { subjectId, id: randomUUID(), begunAt: call.now, ...secretsOfState };
  const identify = async () => ({ ...identity, email: user.email, isEmailVerified: true, name: '', assurance: 1 });
  const asked = { connection: { provider, identify }, callback: new URL('https://usher.test'), authorization };
  return await redeemProviderAnswer(call, parts, newBrowser(), { ...asked, purpose: 'login' });
}

const owners = async () =>
  (await sql`select user_id from user_identities where subject = ${identity.subject}`).map(({ user_id }) => user_id);
const changeAddress = () => sql`update users set email = ${`new.${user.email}`} where id = ${user.id}`;

describe('whoever signs in at a provider', () => {
  test.each<[string, Change]>([
    ['is removed', () => sql`delete from user_identities where subject = ${identity.subject}`],
    [
      'goes to another user',
      async () => {
        const { id } = await createTestUser(service);
        await sql`update user_identities set user_id = ${id} where subject = ${identity.subject}`;
      },
    ],
  ])('is not signed in if the identity %s before the login is completed', async (_what, change) => {
    const link = callWith(async () => {}, completes);
    expect(await linkIdentity(link, identity, { userId: user.id, email: user.email }, BY_CODE)).toBe(true);
    await expect(signIn(callWith(change, completes))).rejects.toThrow('User not found');
  });

  test('is not signed in by an address that the user gives up before the login is completed', async () => {
    await expect(signIn(callWith(changeAddress, completes))).rejects.toThrow('Code no longer valid');
  });

  test('links nothing to the user who gives up the address before that', async () => {
    await expect(signIn(callWith(changeAddress, links))).rejects.toThrow();
    expect(await owners()).toEqual([]);
  });

  test('leaves no identity of a user who is deleted while it is linked', async () => {
    const end = () => sql`update users set deleted_at = now() where id = ${user.id}`;
    await linkIdentity(callWith(end, cleansUp), identity, { userId: user.id, email: user.email }, BY_CODE);
    expect(await owners()).toEqual([]);
  });
});

test('a proof of an address is not one of the address that the user has by then', async () => {
  const { email, id: userId } = user;
  await changeAddress();
  await markEmailVerified(
    callWith(async () => {}, completes),
    { userId, email },
  );
  const [row] = await sql`select email_verified_at from users where id = ${userId}`;
  expect(row).toEqual({ email_verified_at: null });
});
