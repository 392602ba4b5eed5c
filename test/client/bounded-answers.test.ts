/** The three rules by which a session is checked in memory. With a real Usher: test/integration/client/bounded-answers.test.ts. */
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  ActiveSessionSchema,
  CheckSessionResponseSchema,
  ListRevocationsResponseSchema,
  RevocationSchema,
} from '../../gen/usher/v1/session_pb.ts';
import { toConnectError } from '../../src/api/rpc/connect-errors.ts';
import { SessionChecks } from '../../src/client/session-checks.ts';
import { createUsherClient } from '../../src/client/usher-client.ts';
import { ServiceError } from '../../src/domain/core/errors.ts';

const SIGNED_IN = Date.UTC(2026, 0, 1);
const BOUND_MS = 2_000;
const { sessions } = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], now: SIGNED_IN }));
afterEach(() => vi.useRealTimers());

/** Usher, where each session is that of a user with the same ID, who signed in at `SIGNED_IN`. */
function open({ boundMs = BOUND_MS } = {}) {
  const checkSession = vi.fn<typeof sessions.checkSession>(async ({ sessionId = '' }) =>
    create(CheckSessionResponseSchema, {
      session: create(ActiveSessionSchema, {
        userId: sessionId,
        signedInAt: timestampFromMs(SIGNED_IN),
        expiresAt: timestampFromMs(SIGNED_IN + 15 * 60_000),
      }),
    }),
  );
  const next: { subject: { case: 'userId' | 'everyUser' }; at: number }[] = [];
  const listRevocations = vi.fn<typeof sessions.listRevocations>(async () =>
    create(ListRevocationsResponseSchema, {
      until: 'cursor',
      revocations: next.splice(0).map(({ subject, at }) =>
        create(RevocationSchema, {
          subject: subject.case === 'userId' ? { case: 'userId', value: 'a' } : { case: 'everyUser', value: true },
          cutoffAt: timestampFromMs(at),
        }),
      ),
    }),
  );
  const client = { sessions: { ...sessions, checkSession, listRevocations } };
  const checks = new SessionChecks({ client, boundMs, timeoutMs: 1_000 });
  return {
    checks,
    checkSession,
    listRevocations,
    /** Returns how many calls of CheckSession the check costs. */
    async cost(sessionId = 'a') {
      const before = checkSession.mock.calls.length;
      await checks.find(sessionId);
      return checkSession.mock.calls.length - before;
    },
    tell: (at: number, of: 'userId' | 'everyUser' = 'userId') => next.push({ subject: { case: of }, at }),
  };
}

/** Lets calls be answered, and time pass. */
const wait = (ms = 1) => vi.advanceTimersByTimeAsync(ms);

async function openWarm(options?: Parameters<typeof open>[0]) {
  const usher = open(options);
  await usher.checks.find('a');
  await wait();
  expect(await usher.cost()).toBe(1);
  await wait();
  expect(await usher.cost()).toBe(0);
  return usher;
}

test.each([499, 5_001, 0, -1, Number.NaN])('a bound of %s ms is refused when the handlers are made', (boundMs) => {
  expect(() => open({ boundMs })).toThrow(RangeError);
});

test.each([500, 5_000])('with a bound of %s ms, Usher is asked four times per bound', async (boundMs) => {
  const { listRevocations, cost } = await openWarm({ boundMs });
  const before = listRevocations.mock.calls.length;
  for (let part = 0; part < 20; part++) {
    await wait(boundMs / 4);
    expect(await cost()).toBe(0);
  }
  expect(listRevocations.mock.calls.length - before).toBe(20);
});

test('ten thousand checks of a session cost one call', async () => {
  const { cost } = await openWarm();
  let calls = 0;
  for (let time = 0; time < 10_000; time++) calls += await cost();
  expect(calls).toBe(0);
});

test.each([
  ['before its sign-in', SIGNED_IN - 1, 0],
  ['at its sign-in', SIGNED_IN, 1],
  ['after its sign-in', SIGNED_IN + 1, 1],
])('a session is asked for again after a revocation of its user %s', async (_, at, calls) => {
  const { cost, tell } = await openWarm();
  tell(at);
  await wait(BOUND_MS / 4);
  expect(await cost()).toBe(calls);
  expect(await cost('b')).toBe(1);
  expect(await cost('b')).toBe(0);
});

test('an answer that was on its way does not bring a revoked session back', async () => {
  const { checks, checkSession, cost, tell } = await openWarm();
  const answer = await checkSession({ sessionId: 'a' });
  const { promise, resolve } = Promise.withResolvers<typeof answer>();
  tell(SIGNED_IN);
  await wait(BOUND_MS / 4);
  checkSession.mockReturnValueOnce(promise);
  const late = checks.find('a');
  await wait(BOUND_MS);
  resolve(answer);
  await late;
  expect(await cost()).toBe(1);
});

test('the age of what is known counts from the moment of asking, not of the answer', async () => {
  const { cost, listRevocations } = await openWarm();
  const reply = await listRevocations({});
  // A proxy holds the answer back, within the timeout of the call.
  const heldMs = BOUND_MS - 100;
  listRevocations.mockImplementation(
    () => new Promise((resolve) => setTimeout(resolve, heldMs, reply)) as ReturnType<typeof listRevocations>,
  );
  const before = listRevocations.mock.calls.length;
  while (listRevocations.mock.calls.length === before) await wait();
  // The next call, which is held back, too, shows that this one has been answered.
  await wait(heldMs + 1);
  expect(listRevocations.mock.calls.length).toBe(before + 2);
  await wait(BOUND_MS - heldMs - 1);
  expect(await cost()).toBe(0);
  await wait(1);
  expect(await cost()).toBe(1);
});

test.each([
  ['process was stopped', () => vi.setSystemTime(Date.now() + BOUND_MS + 1)],
  ['network is cut', (usher: ReturnType<typeof open>) => usher.listRevocations.mockRejectedValue(new Error('cut'))],
])('no answer is taken from memory after the %s for longer than the bound', async (_, fail) => {
  const usher = await openWarm();
  fail(usher);
  await wait(BOUND_MS + BOUND_MS / 4);
  usher.listRevocations.mockRejectedValue(new Error('cut'));
  await wait(BOUND_MS);
  expect(await usher.cost()).toBe(1);
  expect(await usher.cost()).toBe(1);
});

test('a gap without a revocation costs one call, and the chain goes on from its cursor', async () => {
  const { cost, listRevocations } = await openWarm();
  listRevocations.mockRejectedValueOnce(new Error('cut'));
  await wait(BOUND_MS / 2);
  expect(await cost()).toBe(0);
  expect(listRevocations.mock.lastCall?.[0]).toEqual({ since: 'cursor' });
});

test('after a broken chain, answers are of use that were asked for after the first call of the next one', async () => {
  const { cost, listRevocations } = await openWarm();
  const first = await listRevocations({});
  // Such as a restore of Usher's database.
  listRevocations.mockRejectedValueOnce(toConnectError(new ServiceError('CURSOR_EXPIRED')));
  listRevocations.mockImplementationOnce(
    () => new Promise((resolve) => setTimeout(resolve, 100, first)) as ReturnType<typeof listRevocations>,
  );
  await wait(BOUND_MS / 4);
  expect(await cost()).toBe(1);
  await wait(BOUND_MS / 4);
  expect(listRevocations.mock.lastCall?.[0]).toEqual({ since: '' });
  // This answer may be of before a revocation that nobody will tell.
  expect(await cost('b')).toBe(1);
  await wait(100);
  expect([await cost('a'), await cost('b')]).toEqual([1, 1]);
  await wait();
  expect([await cost('a'), await cost('b')]).toEqual([0, 0]);
});

test('a revocation of every user costs one call for each session', async () => {
  const { cost, tell } = await openWarm();
  tell(SIGNED_IN + 60_000, 'everyUser');
  await wait(BOUND_MS / 4);
  await wait();
  expect(await cost()).toBe(1);
  expect(await cost()).toBe(0);
});

test('what this process has ended is forgotten at once', async () => {
  const { checks, cost } = await openWarm();
  checks.markLeft('a');
  expect(await cost()).toBe(1);
});

test('only live answers are kept, and none beyond the expiry', async () => {
  const { checks, checkSession, cost } = await openWarm();
  checkSession.mockResolvedValueOnce(create(CheckSessionResponseSchema));
  expect(await checks.find('c')).toBeUndefined();
  await wait();
  expect(await cost('c')).toBe(1);
  for (let part = 0; part < 15 * 120; part++) {
    await wait(500);
    if (part % 100 === 0) await checks.find('b');
  }
  expect(await cost()).toBe(1);
});

test('it stops asking a minute after the last request, and begins again with the next', async () => {
  const { checks, listRevocations, cost } = await openWarm();
  await wait(62_000);
  const before = listRevocations.mock.calls.length;
  await wait(60_000);
  expect(listRevocations.mock.calls.length).toBe(before);
  expect(await cost()).toBe(1);
  await wait();
  expect(listRevocations.mock.calls.length).toBe(before + 1);
  await checks.find('a');
  expect(await cost()).toBe(0);
});

test('a slow call is shared only by requests that begin within the bound', async () => {
  const { checks, checkSession } = await openWarm();
  checkSession.mockImplementation(() => new Promise(() => {}) as ReturnType<typeof checkSession>);
  const before = checkSession.mock.calls.length;
  void checks.find('slow');
  await wait(BOUND_MS);
  void checks.find('slow');
  expect(checkSession.mock.calls.length).toBe(before + 1);
  await wait(1);
  void checks.find('slow');
  expect(checkSession.mock.calls.length).toBe(before + 2);
});
