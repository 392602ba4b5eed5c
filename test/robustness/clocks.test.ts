/** The clocks of replicas are apart, which their system clocks are here. Time is that of Postgres. */
import { afterAll, expect, test } from 'vitest';
import { MINUTE, SECOND } from '../support/clock.ts';
import { cloneDatabase } from '../support/database.ts';
import { configLikeProcesses, optionsFor, runMain, startUsher } from '../support/process.ts';
import { adminClient, clientsOf, createTenant, createTestUser, logIn, startTestService } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const ROUNDS = quickOrLong(8, 400);

const database = await cloneDatabase();
afterAll(() => database[Symbol.asyncDispose]());

/** Makes the system clock of a process one that is off. */
const withClockOff = (milliseconds: number) => {
  const source = `const { now } = Date; Date.now = () => now() + ${milliseconds};
    globalThis.Date = class extends Date { constructor(...at) { at.length ? super(...at) : super(now() + ${milliseconds}); } };`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(source)}` };
};

test('replicas whose clocks are seconds apart accept the tokens of each other, and revoke them', async () => {
  await using slow = await startUsher(database.url, withClockOff(-2 * SECOND));
  await using fast = await startUsher(database.url, withClockOff(2 * SECOND));
  const replicas = [slow, fast] as const;
  const tenant = await createTenant(slow);
  const exchange = (at: { url: string }, authToken: string) =>
    clientsOf(at, tenant)
      .auth.exchangeToken({ authToken })
      .then(
        ({ session }) => session?.id ?? '',
        (error: Error) => error.message,
      );
  const outcomes: Record<string, number> = {};
  const count = (outcome: string) => {
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  };
  for (let round = 0; round < ROUNDS; round++) {
    const [here, there] = round % 2 === 0 ? replicas : [fast, slow];
    const user = await createTestUser(here);
    const authToken = await logIn(here, tenant, user);
    const sessionId = await exchange(there, authToken);
    count(/ /.test(sessionId) ? `new token: ${sessionId}` : 'new token accepted');
    const [revoker, other] = round % 4 < 2 ? [here, there] : [there, here];
    if (round % 8 < 4) await clientsOf(revoker, tenant).sessions.revokeUserSessions({ userId: user.id });
    else {
      const admin = adminClient(revoker);
      await admin.deactivateUser({ userId: user.id });
      await admin.reactivateUser({ userId: user.id });
    }
    const late = await exchange(other, authToken);
    count(late.includes('Invalid or expired token') ? 'old token refused' : `old token: ${late}`);
    const { active } = await clientsOf(other, tenant).sessions.checkSession({ sessionId, maxStalenessMs: 0 });
    count(active ? 'session revived' : 'session ended');
    const next = await exchange(other, await logIn(revoker, tenant, user));
    count(/ /.test(next) ? `next token: ${next}` : 'next token accepted');
  }
  expect(outcomes).toEqual({
    'new token accepted': ROUNDS,
    'old token refused': ROUNDS,
    'session ended': ROUNDS,
    'next token accepted': ROUNDS,
  });
});

// How far is too far: test/integration/jobs/expiry.test.ts.
test.each([
  [
    '16 minutes ahead',
    16 * MINUTE,
    /^usher: The clock of this machine is 9[56]\d\.\d s ahead of that of Postgres\. .*\n$/,
  ],
  ['6 seconds behind', -6 * SECOND, /^usher: The clock of this machine is \d+\.\d s behind that of Postgres\. .*\n$/],
])('a replica whose clock is %s does not start, and deletes nothing', async (_, milliseconds, line) => {
  const event = async () => (await database.sql`select count(*)::int as count from audit_events`)[0]?.count;
  {
    await using service = await startTestService({ database, like: configLikeProcesses(database.url) });
    await createTenant(service);
  }
  const before = await event();
  const { exitCode, stderr } = await runMain(optionsFor(database.url, withClockOff(milliseconds)));
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(line);
  expect(await event()).toBe(before);
});
