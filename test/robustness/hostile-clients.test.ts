/** Clients that occupy connections or reset streams: they are disconnected in time, and other clients notice nothing. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, type TestContext, test } from 'vitest';
import { writeCertificate } from '../support/certificate.ts';
import { cloneDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { HABITS, hold, type Victim } from '../support/hostile-clients.ts';
import { HttpPool } from '../support/http.ts';
import { decodeFrames, encodeHeaders, encodeNumber, encodePreface, FRAME } from '../support/http2-frames.ts';
import { type Answer, quantileOf, startLoad } from '../support/load.ts';
import { createSubjects } from '../support/mixed-calls.ts';
import { startUsher } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';

/** The longest that the service may keep a connection that is of no use. */
const LIMIT_MS = quickOrLong(90_000, 10_000);
/** A connection over HTTP/2 with an open stream takes 50 to 80 KB, so 500 of them take up to 40 MB. */
const MAX_GROWTH_BYTES = 60 * 1024 * 1024;
const SOCKETS = quickOrLong(10, 500);
const TLS_SOCKETS = quickOrLong(3, 50);
const RESETS = quickOrLong(5_000, 100_000);
const RESETS_PER_CONNECTION = 2_500;
/** One of so many reads why it was closed. */
const MAX_CONNECTIONS = 100;
const RECONNECT_MS = quickOrLong(0, 250);
/** By how much other work on the machine may delay honest calls in the long form, which alone judges their speed. */
const NOISE_MS = 5;
/** How long the work takes that a connection may ask for before it is closed. */
const BURST_MS = 50;
const CALM_MS = quickOrLong(500, 10_000);
const ARRIVAL_MS = quickOrLong(500, 3_000);
const LONG = { timeout: quickOrLong(600_000, 900_000) };
const CANCEL = 8;
/** The reasons for closing after too many resets: INTERNAL_ERROR by nghttp2, ENHANCE_YOUR_CALM by others. */
const CLOSING_REASONS = [2, 11];

/**
 * So that connections that are idle after a request are closed as early as those of no use. In the short form, which
 * judges no times, other work on the machine may make calls late.
 */
const SETTINGS = { KEEP_ALIVE_TIMEOUT_MS: '7000', REQUEST_TIMEOUT_MS: quickOrLong('60000', '5000') };

const database = await cloneDatabase();
const service = await startUsher(database.url, SETTINGS);
const { tenant, webhookId } = await createSubjects(service);
const victim: Victim = { port: service.port, apiKey: tenant.apiKey, path: `/api/webhooks/${webhookId}` };
const pool = new HttpPool(service, { 'x-api-key': tenant.apiKey });
// So that the memory of a process under ordinary load does not count as growth.
const load = startLoad({ getWebhook: () => pool.call('GET', victim.path).then(String) }, { callers: 16 });
await sleep(quickOrLong(500, 10_000));
await load.stop();

afterAll(async () => {
  pool[Symbol.dispose]();
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const habits = Object.entries(HABITS);
const isBusy = ([, habitOf]: (typeof habits)[number]) => habitOf(victim).isBusy === true;
/** All together in the short form; one kind after the other in the long one. */
const crowds = quickOrLong(
  [{ does: 'occupy their connections or keep the service busy', members: habits }],
  habits.map((habit) => ({ does: habit[0], members: [habit] })),
);

test.for(crowds)('disconnects clients that $does, and others notice nothing', LONG, async (crowd, context) => {
  const { does, members } = crowd;
  const noiseMs = members.some(isBusy) ? Math.max(NOISE_MS, BURST_MS) : NOISE_MS;
  const tried = `clients that ${does}, ${SOCKETS} of a kind, or 1 of a busy kind`;
  await expectUnnoticed(context, tried, () => attack(members, victim, SOCKETS), noiseMs);
});

test('disconnects clients of every kind over TLS', LONG, async (context) => {
  const directory = await createDirectory();
  await using secure = await startUsher(database.url, { ...SETTINGS, ...(await writeCertificate(directory)) });

  const figures = await attack(habits, { ...victim, port: secure.port, hasTls: true }, TLS_SOCKETS);
  report(context, { tried: `clients of every kind over TLS, ${TLS_SOCKETS} of each`, figures });
  expect(secure.errors).toBe('');
  expect(secure.isRunning).toBe(true);
});

test('disconnects clients that reset streams rapidly, and others notice nothing', LONG, async (context) => {
  const resetStreams = async () => {
    const resets = encodeResets();
    const startedAt = performance.now();
    const reasons: (number | undefined)[] = [];
    const isRead = () => reasons.some((reason) => reason !== undefined && CLOSING_REASONS.includes(reason));
    // A client that goes on sending may not be able to read the reason.
    while (reasons.length < RESETS / RESETS_PER_CONNECTION || (!isRead() && reasons.length < MAX_CONNECTIONS)) {
      reasons.push(await resetRapidly(resets));
      await sleep(RECONNECT_MS);
    }
    expect(isRead()).toBe(true);
    return `${reasons.length} connections in ${Math.round(performance.now() - startedAt)} ms`;
  };
  const tried = `${RESETS} streams that are reset at once`;
  await expectUnnoticed(context, tried, resetStreams, Math.max(NOISE_MS, BURST_MS));
});

/** Connects so many clients of each kind, and expects the service to close their connections in time. */
async function attack(members: typeof habits, target: Victim, sockets: number): Promise<string> {
  const kept = await Promise.all(
    members.map(async ([does, habitOf]) => {
      const habit = habitOf(target);
      const length = habit.isBusy ? 1 : sockets;
      const times = Array.from({ length }, async (_, at) => {
        // A test that opens all connections at once would be too busy to measure honest calls.
        await sleep((at * ARRIVAL_MS) / length);
        return hold(habit, target, 2 * LIMIT_MS);
      });
      return { does, longestMs: Math.max(...(await Promise.all(times))) };
    }),
  );
  expect(kept.filter(({ longestMs }) => longestMs > LIMIT_MS)).toEqual([]);
  return `kept for ${Math.round(Math.max(...kept.map(({ longestMs }) => longestMs)))} ms at most`;
}

/** Returns the frames that open and reset streams, a hundred at a time. */
function encodeResets(): Buffer[] {
  const fields = { ':method': 'GET', ':path': victim.path, 'x-api-key': victim.apiKey };
  const encodeOne = (_: unknown, at: number) =>
    Buffer.concat([encodeHeaders(2 * at + 1, fields), encodeNumber(FRAME.reset, 2 * at + 1, CANCEL)]);
  const all = Array.from({ length: RESETS_PER_CONNECTION }, encodeOne);
  return Array.from({ length: all.length / 100 }, (_, at) => Buffer.concat(all.slice(100 * at, 100 * (at + 1))));
}

/** Opens and resets streams until the connection is closed. Resolves to the reason that the service gives. */
async function resetRapidly(resets: readonly Buffer[]): Promise<number | undefined> {
  const socket = connect({ port: victim.port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => {});
  const received: Buffer[] = [];
  socket.on('data', (chunk) => received.push(chunk));
  const { promise: closed, resolve: onClose } = Promise.withResolvers<void>();
  socket.once('close', onClose);
  socket.write(encodePreface());
  for (const hundred of resets) {
    if (!socket.writable) break;
    socket.write(hundred);
    await sleep(1);
  }
  await closed;
  const goaways = [...decodeFrames(Buffer.concat(received))].filter(({ type }) => type === FRAME.goaway);
  return goaways.at(-1)?.payload.readUInt32BE(4);
}

/** Expects honest calls to succeed at about the usual speed during the attack, and memory not to grow. */
async function expectUnnoticed(
  context: TestContext,
  tried: string,
  startAttack: () => Promise<string>,
  noiseMs: number,
): Promise<void> {
  const before = await measureHonestCalls(() => sleep(CALM_MS, ''));
  const during = await measureHonestCalls(startAttack);
  const growth = during.residentBytes - before.residentBytes;
  const speeds = [before, during].map(({ p90Ms, p99Ms }) => `p90 ${p90Ms.toFixed(1)}, p99 ${p99Ms.toFixed(1)} ms`);
  report(context, {
    tried,
    lost: `${during.failed.length} honest calls`,
    figures: `${during.result}; honest ${speeds.join(' before, ')} during; memory +${(growth / 1024 / 1024).toFixed(1)} MB`,
  });
  // In the short form, other work on the machine may make a few honest calls too late.
  const isLate = ({ outcome }: Answer) => quickOrLong(true, false) && outcome === '503';
  expect(during.failed.filter((answer) => !isLate(answer))).toEqual([]);
  expect(during.failed.length).toBeLessThanOrEqual(during.count / 2);
  // After few calls, memory depends on when the garbage was collected last.
  if (quickOrLong(false, true)) expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
  // Of thousands of calls, the ninth decile says more of the attack than of other work on the machine.
  if (quickOrLong(false, true)) expect(during.p90Ms).toBeLessThanOrEqual(2 * before.p90Ms + noiseMs);
}

async function measureHonestCalls(meanwhile: () => Promise<string>) {
  const getWebhook = async () => String((await pool.call('GET', victim.path)).status);
  const load = startLoad({ getWebhook }, { callers: 4, pauseMs: quickOrLong(50, 5) });
  let residentBytes = 0;
  const look = () => {
    residentBytes = Math.max(residentBytes, service.residentBytes());
  };
  const timer = setInterval(look, 100);
  try {
    const result = await meanwhile();
    // An attack may be over before the first time.
    look();
    const answers = await load.stop();
    const failed = answers.filter(({ outcome }) => outcome !== '200');
    const count = answers.length;
    return { result, count, failed, residentBytes, p90Ms: quantileOf(answers, 0.9), p99Ms: quantileOf(answers, 0.99) };
  } finally {
    clearInterval(timer);
    await load.stop();
  }
}
