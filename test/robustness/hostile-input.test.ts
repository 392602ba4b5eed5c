/** Many generated requests: every reply is documented, and the service stays up. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type HostileRequest, hostileRequests } from '../support/hostile-requests.ts';
import { faultOf } from '../support/hostile-verdict.ts';
import { type HttpClient, type HttpVersion, openHttpClient } from '../support/http.ts';
import { LOGIN_CONFIG } from '../support/login-browser.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const REQUESTS = quickOrLong(800, 200_000);
/** Set HOSTILE_SEED to the seed that a failure names to send the same requests again. */
const SEED = Number(process.env.HOSTILE_SEED ?? quickOrLong(1, Date.now() % 1e9));
/** How many requests are generated at a time, and then sent over one connection. */
const CHUNK = quickOrLong(50, 100);
const MAX_FAULTS = 10;
const CONNECTIONS: readonly HttpVersion[] = [...Array<'1.1'>(12).fill('1.1'), ...Array<'2'>(4).fill('2')];

it(`answers ${REQUESTS} hostile requests as documented, and each connection then serves or is closed`, async (context) => {
  // An uncaught exception fails the test as well, since the service runs in its process.
  const { lines: problems, logger } = new RecordedLog('error');
  const config = { ...LOGIN_CONFIG, loginMethods: ['wallet', 'email', 'passkey'] as const };
  await using service = await startTestService({ logger, sendMail: async () => {}, config });
  const requests = await hostileRequests(service);
  const startedAt = performance.now();
  const replies: Record<string, number> = {};
  let drawn = 0;
  const sendChunks = async (httpVersion: HttpVersion) => {
    while (drawn < REQUESTS && problems.length < MAX_FAULTS) {
      const seed = SEED + drawn;
      drawn += CHUNK;
      using client = openHttpClient(service.url, { httpVersion });
      await expectHealthy(client);
      for (const request of fc.sample(requests, { seed, numRuns: CHUNK })) {
        try {
          const status = await send(client, request);
          replies[status] = (replies[status] ?? 0) + 1;
        } catch (error) {
          problems.push(`${error} to ${describeRequest(request)} over HTTP/${httpVersion}`);
        }
      }
    }
  };
  await Promise.all(CONNECTIONS.map(sendChunks));

  report(context, {
    tried: `${REQUESTS} hostile requests with the seed ${SEED}`,
    lost: `${problems.length} wrong replies`,
    figures: `${JSON.stringify(replies)}, ${Math.round((performance.now() - startedAt) / 1_000)} s`,
  });
  expect(problems, `with HOSTILE_SEED=${SEED}`).toEqual([]);
}, 1_800_000);

/** Sends the request and then another one. Throws if something is wrong with either reply. */
async function send(client: HttpClient, request: HostileRequest): Promise<number | 'reset'> {
  const length = request.body.length > 0 ? { 'content-length': String(request.body.length) } : {};
  const reply = await client
    .send({ ...request, headers: { ...request.headers, ...length }, body: request.body })
    .catch((error) => {
      // HTTP/2 resets streams that it forbids.
      if (!/NGHTTP2_PROTOCOL_ERROR|code 1\b/.test(`${error}`)) throw error;
    });
  const fault = reply && faultOf(request, reply);
  if (fault) throw new Error(fault);
  await expectHealthy(client);
  return reply?.status ?? 'reset';
}

async function expectHealthy(client: HttpClient): Promise<void> {
  expect((await client.send({ path: '/healthz' })).body).toBe('{"status":"ok"}');
}

function describeRequest({ body, ...head }: HostileRequest): string {
  const shown = JSON.stringify(head).replace(/(.)\1{99,}/g, '$1...');
  return `${shown.slice(0, 2_000)} with ${body.length} bytes: ${JSON.stringify(body.toString('latin1', 0, 200))}`;
}
