/** Clients that want to do harm: their connections are ended in time, and nobody else notices. */
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, type TestContext, test } from 'vitest';
import { writeCertificate } from '../support/certificate.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { HABITS, hold, type Victim } from '../support/hostile-clients.ts';
import { HttpPool } from '../support/http-pool.ts';
import { decodeFrames, encodeHeaders, encodeNumber, encodePreface, FRAME } from '../support/http2-frames.ts';
import { type Answer, startLoad } from '../support/load.ts';
import { clientsOf, createTenant, createTestUser } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { UsherProcess } from '../support/usher-process.ts';

/** How long the service may keep a connection that is of no use. */
const LIMIT_MS = quickOrLong(12_000, 10_000);
const MAX_GROWTH_BYTES = 30 * 1024 * 1024;
const SOCKETS = quickOrLong(30, 500);
const TLS_SOCKETS = quickOrLong(30, 50);
const RESETS = quickOrLong(5_000, 100_000);
const RESETS_PER_CONNECTION = 2_500;
const RECONNECT_MS = quickOrLong(0, 250);
/** What an honest call may take longer than before on a machine that has other work. */
const NOISE_MS = quickOrLong(250, 5);
/** What a connection may ask for before it is sent away is work for that long. */
const BURST_MS = 50;
const WARM_UP_MS = quickOrLong(1_500, 5_000);
const ARRIVAL_MS = quickOrLong(500, 3_000);
const ATTEMPTS = 3;
/** Enough for all attempts. */
const LONG = { timeout: quickOrLong(120_000, 900_000) };
const CANCEL = 8;
/** What nghttp2 says of too many resets, and what others say: INTERNAL_ERROR, ENHANCE_YOUR_CALM. */
const SENT_AWAY = [2, 11];

let database: TestDatabase;
let service: UsherProcess;
let victim: Victim;
let pool: HttpPool;

beforeAll(async () => {
  database = await cloneDatabase();
  service = await UsherProcess.start(database.url);
  const tenant = await createTenant(service);
  const owner = await createTestUser(service);
  const { webhook } = await clientsOf(service, tenant).webhooks.createWebhook({
    url: 'https://example.com/hooks',
    ownerId: owner.id,
  });
  victim = { port: service.port, apiKey: tenant.apiKey, path: `/api/webhooks/${webhook?.webhookId}` };
  pool = new HttpPool(service, { 'x-api-key': tenant.apiKey });
  // What a busy process takes, and keeps, is not for the attacks to answer for.
  const load = startLoad({ getWebhook: () => pool.call('GET', victim.path).then(String) }, { callers: 16 });
  await sleep(quickOrLong(500, 10_000));
  await load.stop();
});

afterAll(async () => {
  pool[Symbol.dispose]();
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

const NOBODY: Victim = { port: 0, apiKey: '', path: '' };
const habits = Object.entries(HABITS);
const [busy, slow] = [true, false].map((isBusy) =>
  habits.filter(([, habitOf]) => Boolean(habitOf(NOBODY).isBusy) === isBusy),
);
/** One kind of client after the other takes its time; together they are as many as it takes to be a crowd. */
const crowds = quickOrLong(
  [
    { title: 'of every slow kind', members: slow ?? [] },
    { title: 'of every busy kind', members: busy ?? [] },
  ],
  habits.map((habit) => ({ title: `of which each ${habit[0]}`, members: [habit] })),
);

test.for(crowds)('a crowd $title is sent away, and nobody else notices', LONG, async ({ title, members }, context) => {
  const tried = `clients ${title}, ${SOCKETS} of a kind, or one that is busy`;
  const attack = async () => {
    const kept = await Promise.all(
      members.map(async ([does, habitOf]) => {
        const habit = habitOf(victim);
        const length = habit.isBusy ? 1 : SOCKETS;
        const times = Array.from({ length }, async (_, at) => {
          // A client that opens them all at once would be too busy itself to see what honest ones see.
          await sleep((at * ARRIVAL_MS) / length);
          return hold(habit, victim, 2 * LIMIT_MS);
        });
        return { does, longestMs: Math.max(...(await Promise.all(times))) };
      }),
    );
    expect(kept.filter(({ longestMs }) => longestMs > LIMIT_MS)).toEqual([]);
    return `kept for ${Math.round(Math.max(...kept.map(({ longestMs }) => longestMs)))} ms at most`;
  };
  const noiseMs = members.some(([, habitOf]) => habitOf(NOBODY).isBusy) ? Math.max(NOISE_MS, BURST_MS) : NOISE_MS;
  await expectUnnoticed(context, tried, attack, noiseMs);
});

test('over TLS a crowd of every kind is sent away as well', async (context) => {
  const directory = await mkdtemp(join(tmpdir(), 'usher-tls-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await using secure = await UsherProcess.start(database.url, await writeCertificate(directory));
  const target = { ...victim, port: secure.port, hasTls: true };

  const kept = await Promise.all(
    habits.map(async ([does, habitOf]) => {
      const habit = habitOf(target);
      const length = habit.isBusy ? 1 : TLS_SOCKETS;
      const times = Array.from({ length }, () => hold(habit, target, 2 * LIMIT_MS));
      return { does, longestMs: Math.max(...(await Promise.all(times))) };
    }),
  );
  report(context, {
    tried: `clients of every kind over TLS, ${TLS_SOCKETS} of each`,
    lost: secure.isRunning ? 'nothing' : 'the process',
    figures: `kept for ${Math.round(Math.max(...kept.map(({ longestMs }) => longestMs)))} ms at most`,
  });
  expect(secure.complaints).toBe('');
  expect(secure.isRunning).toBe(true);
  expect(kept.filter(({ longestMs }) => longestMs > LIMIT_MS)).toEqual([]);
});

test('who resets streams as fast as they are opened is sent away, and nobody else notices', LONG, async (context) => {
  await expectUnnoticed(
    context,
    `${RESETS} streams that are reset at once`,
    async () => {
      const resets = encodeResets();
      const startedAt = performance.now();
      const reasons: (number | undefined)[] = [];
      while (reasons.length < RESETS / RESETS_PER_CONNECTION) {
        reasons.push(await resetRapidly(resets));
        await sleep(RECONNECT_MS);
      }
      // One that goes on sending may not get to read why it has been sent away.
      expect(reasons.filter((reason) => reason !== undefined && SENT_AWAY.includes(reason))).not.toEqual([]);
      return `${reasons.length} connections in ${Math.round(performance.now() - startedAt)} ms`;
    },
    Math.max(NOISE_MS, BURST_MS),
  );
});

/** Streams that are opened and reset, a hundred at a time. */
function encodeResets(): Buffer[] {
  const fields = { ':method': 'GET', ':path': victim.path, 'x-api-key': victim.apiKey };
  const encodeOne = (_: unknown, at: number) =>
    Buffer.concat([encodeHeaders(2 * at + 1, fields), encodeNumber(FRAME.reset, 2 * at + 1, CANCEL)]);
  const all = Array.from({ length: RESETS_PER_CONNECTION }, encodeOne);
  return Array.from({ length: all.length / 100 }, (_, at) => Buffer.concat(all.slice(100 * at, 100 * (at + 1))));
}

/** Opens and resets streams until it is sent away. Resolves to the reason it is given. */
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

/** Honest calls are all answered meanwhile, about as fast as before, and the memory of the service does not grow. */
async function expectUnnoticed(
  context: TestContext,
  tried: string,
  attack: () => Promise<string>,
  noiseMs = NOISE_MS,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const before = await measureHonestCalls(() => sleep(WARM_UP_MS, ''));
    const during = await measureHonestCalls(attack);
    const growth = during.residentBytes - before.residentBytes;
    const isAsFast = during.p99Ms <= 2 * before.p99Ms + noiseMs;
    if (!isAsFast && attempt < ATTEMPTS) continue;

    report(context, {
      tried,
      lost: during.failed.length === 0 ? 'nothing' : `${during.failed.length} honest calls`,
      figures: `${during.result}; honest p99 ${before.p99Ms.toFixed(1)} ms before, ${during.p99Ms.toFixed(1)} ms meanwhile; memory +${(growth / 1024 / 1024).toFixed(1)} MB`,
    });
    expect(during.failed).toEqual([]);
    expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
    expect(isAsFast, `p99 was ${before.p99Ms} ms, and is ${during.p99Ms} ms`).toBe(true);
    return;
  }
}

async function measureHonestCalls(meanwhile: () => Promise<string>) {
  const getWebhook = async () => String((await pool.call('GET', victim.path)).status);
  const load = startLoad({ getWebhook }, { callers: 4, pauseMs: 5 });
  let residentBytes = 0;
  const timer = setInterval(() => {
    residentBytes = Math.max(residentBytes, service.residentBytes());
  }, 100);
  try {
    const result = await meanwhile();
    const answers = await load.stop();
    const failed: Answer[] = answers.filter(({ outcome }) => outcome !== '200');
    const times = answers.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
    return { result, failed, residentBytes, p99Ms: times[Math.floor(times.length * 0.99)] ?? Number.NaN };
  } finally {
    clearInterval(timer);
    await load.stop();
  }
}
