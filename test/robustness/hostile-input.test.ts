/** Generated requests by the thousand: whatever comes in, what goes out is documented, and nothing falls over. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLogger } from '../../src/log.ts';
import { type HostileRequest, hostileRequests } from '../support/hostile-requests.ts';
import { createHttp1Sender, createHttp2Sender, type HostileSender } from '../support/hostile-sender.ts';
import { request } from '../support/http.ts';
import { learn } from '../support/known.ts';
import { startMain } from '../support/process.ts';
import { ADMIN_KEY, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const REQUESTS = quickOrLong(20_000, 200_000);
/** To see the same requests again, set it to the one that a failure names. */
const SEED = Number(process.env.HOSTILE_SEED ?? Date.now() % 1e9);
/** So many requests are generated at a time. */
const CHUNK = 500;
const MAX_FAULTS_TOLD = 10;

interface Target extends AsyncDisposable {
  readonly url: string;
  /** Ends it, and resolves to what it has complained of. */
  end(): Promise<string[]>;
}

it(`${REQUESTS} hostile requests are answered as documented, and leave a connection that is of use, or closed`, async (context) => {
  await using target = await quickOrLong(startHere, startBeside)();
  const startedAt = performance.now();
  const { faults, answers, closed } = await attack(target.url);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);

  expect((await request(target.url, { path: '/readyz' })).status).toBe(200);
  const lost = [...faults, ...(await target.end())];
  report(context, {
    tried: `${REQUESTS} hostile requests with the seed ${SEED}`,
    lost: lost.length > 0 ? `${lost.length} wrong answers` : 'nothing',
    figures: `${JSON.stringify(answers)}, ${closed} connections closed, ${seconds} s`,
  });
  expect(lost, `with HOSTILE_SEED=${SEED}`).toEqual([]);
}, 1_800_000);

/** In this process: an exception that nobody catches fails the test as well. */
async function startHere(): Promise<Target> {
  const complaints: string[] = [];
  const logger = createLogger('error', { write: (line) => void complaints.push(line) });
  const service = await startTestService({ logger, deliver: async () => {} });
  return {
    url: service.url,
    end: async () => complaints,
    [Symbol.asyncDispose]: () => service.close(),
  };
}

/** In a process of its own. */
async function startBeside(): Promise<Target> {
  const directory = await mkdtemp(join(tmpdir(), 'usher-hostile-'));
  const main = await startMain({
    env: { PORT: '0', DATA_DIR: join(directory, 'data'), ADMIN_KEY, LOG_LEVEL: 'error' },
  });
  const greeting = main.stdout.length;
  return {
    url: main.url.replace('localhost', '127.0.0.1'),
    async end() {
      const exitCode = await main.end('SIGTERM');
      const lines = `${main.stdout.slice(greeting)}${main.stderr}`.split('\n');
      // Codes to sign in with go to the terminal.
      const complaints = lines.filter((line) => line !== '' && !line.startsWith('  E-MAIL to '));
      return exitCode === 0 ? complaints : [...complaints, `exit code ${exitCode}`];
    },
    async [Symbol.asyncDispose]() {
      await main[Symbol.asyncDispose]();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Sends them over many connections at once, one after the other on each. */
async function attack(url: string) {
  const next = drawFrom(hostileRequests(await learn(url)));
  const senders: HostileSender[] = [
    ...Array.from({ length: 12 }, () => createHttp1Sender(url)),
    ...Array.from({ length: 4 }, () => createHttp2Sender(url)),
  ];
  const faults: string[] = [];
  const answers: Record<string, number> = {};
  let closed = 0;
  const sendAll = async (sender: HostileSender) => {
    using _ = sender;
    for (let drawn = next(); drawn && faults.length < MAX_FAULTS_TOLD; drawn = next()) {
      try {
        const { status, wasClosed } = await sender.send(drawn);
        answers[status] = (answers[status] ?? 0) + 1;
        if (wasClosed) closed++;
      } catch (error) {
        faults.push(`${error} to ${describeRequest(drawn)}`);
      }
    }
  };
  await Promise.all(senders.map(sendAll));
  return { faults, answers, closed };
}

/** A request at a time, the same ones for the same seed. */
function drawFrom(requests: fc.Arbitrary<HostileRequest>): () => HostileRequest | undefined {
  let drawn = 0;
  let chunk: HostileRequest[] = [];
  return () => {
    if (drawn === REQUESTS) return undefined;
    if (chunk.length === 0) chunk = fc.sample(requests, { seed: SEED + drawn, numRuns: CHUNK });
    drawn++;
    return chunk.pop();
  };
}

function describeRequest({ body, ...head }: HostileRequest): string {
  return `${JSON.stringify(head).slice(0, 2_000)} with ${body.length} bytes: ${JSON.stringify(body.toString('latin1', 0, 200))}`;
}
