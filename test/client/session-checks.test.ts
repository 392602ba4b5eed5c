/** Which answers about sessions are kept, for whom, and how long. */
import { create } from '@bufbuild/protobuf';
import { afterEach, expect, test, vi } from 'vitest';
import { ActiveSessionSchema, CheckSessionResponseSchema } from '../../gen/usher/v1/session_pb.ts';
import { SessionChecks } from '../../src/client/session-checks.ts';
import { createUsherClient } from '../../src/client/usher-client.ts';

const MAX_ANSWERS = 10_000;
const { sessions } = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });

afterEach(() => vi.useRealTimers());

/** Usher, where each session is that of a user with the same ID. */
function createChecks(maxStalenessMs?: number) {
  const checkSession = vi.fn<typeof sessions.checkSession>(async ({ sessionId = '' }) =>
    create(CheckSessionResponseSchema, { session: create(ActiveSessionSchema, { userId: sessionId }) }),
  );
  const client = { sessions: { ...sessions, checkSession } };
  const checks = new SessionChecks({ client, maxStalenessMs, timeoutMs: 1_000 });
  return { checks, checkSession, asked: () => checkSession.mock.calls.map(([request]) => request) };
}

test('with a staleness of 0, Usher is asked each time, and for what is true now', async () => {
  const { checks, asked } = createChecks(0);
  await checks.find('a');
  await checks.find('a');
  const now = { sessionId: 'a', maxStalenessMs: 0 };
  expect(asked()).toEqual([now, now]);
});

test.each([undefined, 5_000, 60_000])(
  'with a staleness of %s ms, nobody counts as signed in for more than five seconds',
  async (maxStalenessMs) => {
    const { checks, asked } = createChecks(maxStalenessMs);
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    await checks.find('a');
    vi.advanceTimersByTime(2_499);
    await checks.find('a');
    expect(asked()).toEqual([{ sessionId: 'a', maxStalenessMs: 2_500 }]);
    vi.advanceTimersByTime(1);
    await checks.find('a');
    expect(asked()).toHaveLength(2);
  },
);

test('an answer is as old as the clock says after a machine has slept', async () => {
  const { checks, asked } = createChecks();
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  await checks.find('a');
  // `performance.now` stands still while it sleeps.
  vi.setSystemTime(Date.now() + 2_500);
  await checks.find('a');
  expect(asked()).toHaveLength(2);
});

test('a clock that is set back makes no answer younger', async () => {
  const { checks, asked } = createChecks();
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  await checks.find('a');
  vi.advanceTimersByTime(2_500);
  vi.setSystemTime(Date.now() - 60_000);
  await checks.find('a');
  expect(asked()).toHaveLength(2);
});

test('nobody gets the answer to another session', async () => {
  const { checks } = createChecks();
  for (const id of ['a', 'b', 'a']) expect((await checks.find(id))?.userId).toBe(id);
});

test('a browser that signs out is signed out at once, although an answer was kept', async () => {
  const { checks, checkSession } = createChecks();
  expect(await checks.find('a')).toBeDefined();
  checks.markLeft('a');
  checkSession.mockResolvedValueOnce(create(CheckSessionResponseSchema));
  expect(await checks.find('a')).toBeUndefined();
});

test('a failure is not kept: the next request asks again', async () => {
  const { checks, checkSession } = createChecks();
  checkSession.mockRejectedValueOnce(new Error('busy'));
  await expect(checks.find('a')).rejects.toThrow('busy');
  expect((await checks.find('a'))?.userId).toBe('a');
});

test('no more than 10,000 answers are kept, so that made-up sessions fill no memory', async () => {
  const { checks, asked } = createChecks();
  for (let id = 0; id <= MAX_ANSWERS; id++) await checks.find(String(id));
  await checks.find(String(MAX_ANSWERS));
  expect(asked()).toHaveLength(MAX_ANSWERS + 1);
  await checks.find('0');
  expect(asked()).toHaveLength(MAX_ANSWERS + 2);
});
