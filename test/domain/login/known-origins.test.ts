/** Where users have signed in. What it is good for: test/robustness/login-limits.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { type Familiarity, findFamiliarity, foldEmail } from '../../../src/domain/login/known-origins.ts';
import { deriveLoginCodeKeys } from '../../../src/domain/login/login-code.ts';
import { LoginBrowser } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { newBrowser } from '../../support/new-browser.ts';
import { RecordingDatabase } from '../../support/recording-database.ts';
import { adminClient, createTestUser, type TestUser } from '../../support/service.ts';

const NETWORK = '198.51.100.1';

const fixture = await LoginFixture.open();
const database = new RecordingDatabase(fixture.service.database.url);

afterAll(async () => {
  await database[Symbol.asyncDispose]();
  await fixture.close();
});

/** Signs in with the address of the user. Returns what instances with other keys know of the network then. */
async function signIn(user: TestUser, of = fixture.tenant) {
  const asked = await fixture.askForCode({
    browser: new LoginBrowser(fixture.service, { address: NETWORK }),
    user,
    of,
  });
  expect((await asked.enter(asked.code)).status).toBe(303);
  return (encryptionKeys = fixture.service.config.secrets.encryptionKeys ?? []): Promise<Familiarity> =>
    findFamiliarity(
      { run: database.within(0), now: fixture.clock.read() },
      deriveLoginCodeKeys(encryptionKeys),
      newBrowser({ address: NETWORK }),
      user.email,
    );
}

it('knows a network with the key of then among its keys, and with no other', async () => {
  const familiarity = await signIn(await createTestUser(fixture.service));
  const { encryptionKeys = [] } = fixture.service.config.secrets;
  const other = randomBytes(32);
  expect(await familiarity()).toBe('network');
  expect(await familiarity([other, ...encryptionKeys])).toBe('network');
  expect(await familiarity([other])).toBe('stranger');
});

it('forgets where an erased user has signed in, or has signed up, and not where others have', async () => {
  const { service, tenant } = fixture;
  const [known, other] = [await createTestUser(service), await createTestUser(service)];
  const admin = adminClient(service);
  await admin.updateApplication({ applicationId: tenant.id, allowSignUp: true });
  const unknown = { ...known, email: `${randomUUID()}@example.com` };
  const familiarities = [await signIn(known), await signIn(unknown), await signIn(other)];
  const { sql } = service.database;
  const [signedUp] = await sql`select id from users where email = ${unknown.email}`;
  const [before] = await sql`select count(*)::int from known_origins`;

  for (const userId of [known.id, signedUp?.id]) await admin.eraseUser({ userId });
  expect(await Promise.all(familiarities.map((familiarity) => familiarity()))).toEqual([
    'stranger',
    'stranger',
    'network',
  ]);
  const [after] = await sql`select count(*)::int from known_origins`;
  expect(before?.count - after?.count).toBe(4);
});

it.each([
  ['ada@bücher.test', 'ada@xn--bcher-kva.test', true],
  ['ada@a b.test', 'ada@a b.test.', true],
  ['ada@a b.test', 'ada@c d.test', false],
])('takes %s and %s for one address: %s', (one, other, isSame) => {
  expect(foldEmail(one) === foldEmail(other)).toBe(isSame);
});
