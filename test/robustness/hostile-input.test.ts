/** Thousands of generated requests: every reply is documented, and the service stays up. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLogger } from '../../src/log.ts';
import { type HostileRequest, hostileRequests } from '../support/hostile-requests.ts';
import { createHttp1Sender, createHttp2Sender, type HostileSender } from '../support/hostile-sender.ts';
import { request } from '../support/http.ts';
import { learn } from '../support/known.ts';
import { startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const REQUESTS = quickOrLong(10_000, 200_000);
/** Set HOSTILE_SEED to the seed that a failure names to send the same requests again. */
const SEED = Number(process.env.HOSTILE_SEED ?? Date.now() % 1e9);
/** How many requests are generated at a time. */
const CHUNK = 500;
const MAX_FAULTS = 10;

it(`answers ${REQUESTS} hostile requests as documented, and each connection then serves or is closed`, async (context) => {
  // An uncaught exception fails the test as well, since the service runs in its process.
  const errors: string[] = [];
  const logger = createLogger('error', { write: (line) => void errors.push(line) });
  await using service = await startTestService({ logger, deliver: async () => {} });
  const startedAt = performance.now();
  const { faults, replies, closed } = await attack(service.url);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);

  expect((await request(service.url, { path: '/readyz' })).status).toBe(200);
  const lost = [...faults, ...errors];
  report(context, {
    tried: `${REQUESTS} hostile requests with the seed ${SEED}`,
    lost: `${lost.length} wrong replies`,
    figures: `${JSON.stringify(replies)}, ${closed} connections closed, ${seconds} s`,
  });
  expect(lost, `with HOSTILE_SEED=${SEED}`).toEqual([]);
}, 1_800_000);

/** Sends the requests over several connections at once, one after the other on each. */
async function attack(url: string) {
  const next = drawFrom(hostileRequests(await learn(url)));
  const senders: HostileSender[] = [
    ...Array.from({ length: 12 }, () => createHttp1Sender(url)),
    ...Array.from({ length: 4 }, () => createHttp2Sender(url)),
  ];
  const faults: string[] = [];
  const replies: Record<string, number> = {};
  let closed = 0;
  const sendAll = async (sender: HostileSender) => {
    using _ = sender;
    for (let drawn = next(); drawn && faults.length < MAX_FAULTS; drawn = next()) {
      try {
        const { status, wasClosed } = await sender.send(drawn);
        replies[status] = (replies[status] ?? 0) + 1;
        if (wasClosed) closed++;
      } catch (error) {
        faults.push(`${error} to ${describeRequest(drawn)}`);
      }
    }
  };
  await Promise.all(senders.map(sendAll));
  return { faults, replies, closed };
}

/** Returns one request at a time, the same ones for the same seed. */
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
