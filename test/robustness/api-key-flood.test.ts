/** API keys that are none, by the thousand. */
import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database } from '../../src/database/database.ts';
import { generateApiKey } from '../../src/domain/api-keys/api-key.ts';
import { ApiKeys } from '../../src/domain/api-keys/api-keys.ts';
import { countStatements } from '../support/count-statements.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { startLoad } from '../support/load.ts';
import { refusalOf } from '../support/refusals.ts';
import { adminClient, createTenant, startTestService, type TestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const KEYS = quickOrLong(20_000, 1_000_000);
/** How many come at the same time. */
const AT_ONCE = 500;
const GATHER_MS = 5;
/** The memory of unknown keys, full, with room for what Node needs to get there. */
const MAX_GROWTH_BYTES = 40 * 2 ** 20;
const REVOCATION_MS = 5_000;

let service: TestService;
let database: Database;

beforeAll(async () => {
  service = await startTestService();
  database = new Database(service.database.url, { connections: 2, statementTimeoutMs: 5_000 });
});

afterAll(async () => {
  await database.close();
  await service.close();
});

describe('of a flood of keys', () => {
  test('those mistyped, cut off or made up cost no query, and no memory', async (context) => {
    const { apiKey } = await createTenant(service);
    const makers = [() => mistype(apiKey), () => apiKey.slice(0, randomBytes(1).readUInt8() % 53), makeUp];
    const { run, count } = countStatements(database, { patienceMs: 30_000 });
    const { grownBytes } = await flood(new ApiKeys(run), (at) => makers[at % makers.length]?.() ?? '');
    report(context, {
      tried: `${KEYS} malformed API keys`,
      lost: 'nothing',
      figures: `${count()} queries, ${toMiB(grownBytes)}`,
    });
    expect(count()).toBe(0);
    expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
  });

  test('those well-formed share few queries, and bounded memory', async (context) => {
    const { run, count } = countStatements(database, { patienceMs: 30_000 });
    const { tookMs, grownBytes } = await flood(new ApiKeys(run), () => generateApiKey());
    const figures = `${count()} queries in ${Math.round(tookMs)} ms, ${toMiB(grownBytes)}`;
    report(context, { tried: `${KEYS} unknown, well-formed API keys`, lost: 'nothing', figures });
    expect(count()).toBeLessThan(tookMs / GATHER_MS + 2);
    expect(count()).toBeLessThan(KEYS / 20);
    expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
  });
});

test('during a flood a new key gets in at once, a known one keeps working, and a revoked one stops within 5 seconds', async (context) => {
  await using other = await startTestService({ database: service.database, like: service.config });
  const tenant = await createTenant(service);
  using session = openHttp2Session(other.url);
  const statusWith = async (apiKey: string) => {
    const path = `/api/webhooks/wh_${'0'.repeat(32)}`;
    return String((await session.exchange({ ':path': path, 'x-api-key': apiKey })).status);
  };
  const guesses = startLoad({ guess: () => statusWith(generateApiKey()) }, { callers: 48 });
  const uses = startLoad({ use: () => statusWith(tenant.apiKey) }, { callers: 4, pauseMs: 2 });

  const admittedMs: number[] = [];
  const admissions: string[] = [];
  for (let round = 0; round < quickOrLong(5, 200); round++) {
    const { apiKey } = await adminClient(service).createApiKey({ applicationId: tenant.id });
    const startedAt = performance.now();
    admissions.push(await statusWith(apiKey));
    admittedMs.push(performance.now() - startedAt);
  }
  await adminClient(service).revokeApiKey({ apiKeyId: tenant.apiKeyId });
  const revokedAt = performance.now();
  await expect.poll(() => statusWith(tenant.apiKey), { timeout: 2 * REVOCATION_MS, interval: 20 }).toBe('401');
  const [used, guessed] = [await uses.stop(), await guesses.stop()];

  const accepted = used.filter(({ outcome }) => outcome === '404');
  const lateMs = Math.max(0, ...accepted.map(({ startedAt }) => startedAt - revokedAt));
  const slowestMs = Math.max(...admittedMs);
  report(context, {
    tried: `${guessed.length} guesses beside ${used.length} calls, ${admissions.length} new keys, one revoked`,
    lost: 'nothing',
    figures: `a new key is in after at most ${Math.round(slowestMs)} ms, a revoked one out after ${Math.round(lateMs)} ms`,
  });
  expect(countOutcomes(guessed)).toEqual({ 401: guessed.length });
  expect(new Set(admissions)).toEqual(new Set(['404']));
  expect(used.filter(({ startedAt, outcome }) => startedAt < revokedAt - 1_000 && outcome !== '404')).toEqual([]);
  expect(accepted.length).toBeGreaterThan(0);
  expect(lateMs).toBeLessThan(REVOCATION_MS);
});

/** Refused, every one of them. */
async function flood(apiKeys: ApiKeys, make: (at: number) => string) {
  const before = usedBytes();
  const startedAt = performance.now();
  for (let at = 0; at < KEYS; at += AT_ONCE) {
    const deadline = performance.now() + 30_000;
    const keys = Array.from({ length: AT_ONCE }, (_, index) => make(at + index));
    const refusals = await Promise.all(keys.map((key) => refusalOf(apiKeys.authenticate(key, { deadline }))));
    if (refusals.some(({ message }) => message !== 'Invalid API key')) throw new Error('It was let in');
  }
  return { tookMs: performance.now() - startedAt, grownBytes: usedBytes() - before };
}

function mistype(apiKey: string): string {
  const at = 4 + (randomBytes(1).readUInt8() % 49);
  return `${apiKey.slice(0, at)}${apiKey[at] === 'x' ? 'y' : 'x'}${apiKey.slice(at + 1)}`;
}

function makeUp(): string {
  return `usk_${randomBytes(40).toString('base64url')}`.slice(0, 53);
}

function countOutcomes(answers: readonly { outcome: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { outcome } of answers) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}

/** Once the garbage is gone. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

function toMiB(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB more`;
}
