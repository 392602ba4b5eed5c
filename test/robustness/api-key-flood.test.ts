/** A flood of invalid API keys costs few queries and bounded memory, and other keys keep working. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, expect, test } from 'vitest';
import { Database } from '../../src/database/pool/database.ts';
import { ApiKeys } from '../../src/domain/api-keys/api-keys.ts';
import { generateApiKey } from '../../src/domain/applications/api-key.ts';
import { countStatements } from '../support/count-statements.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { endOf, startLoad } from '../support/load.ts';
import { refusalOf } from '../support/refusals.ts';
import { adminClient, createTenant, startTestService, type Tenant } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const KEYS = quickOrLong(20_000, 1_000_000);
/** How many keys are tried at the same time. */
const CONCURRENCY = 500;
/** How long look-ups are collected into one query. */
const BATCH_MS = 5;
/** The full cache of unknown keys, and what Node needs to fill it. */
const MAX_GROWTH_BYTES = 40 * 2 ** 20;
const REVOCATION_MS = 5_000;

const service = await startTestService();
const database = new Database(service.database.url, { connections: 2, statementTimeoutMs: 60_000 });

afterAll(async () => {
  await database.close();
  await service.close();
});

test('well-formed unknown keys share few queries and use bounded memory', async (context) => {
  const { queries, tookMs, grownBytes } = await flood();
  const figures = `${queries} queries in ${Math.round(tookMs)} ms, ${toMiB(grownBytes)}`;
  report(context, { tried: `${KEYS} unknown, well-formed API keys`, figures });
  expect(queries).toBeLessThan(tookMs / BATCH_MS + 2);
  expect(queries).toBeLessThan(KEYS / 20);
  expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
});

const CASES = [
  { title: 'a revoked key, in a flood', guessers: 48, load: { callers: 4, pauseMs: 2 }, revoke: revokeApiKey },
  {
    title: 'that of a deleted application, in a flood',
    guessers: 48,
    load: { callers: 4, pauseMs: 2 },
    revoke: deleteApplication,
  },
  { title: 'a revoked key, with hardly a call', guessers: 0, load: { callers: 1, pauseMs: 700 }, revoke: revokeApiKey },
];

// The age of answers: test/domain/api-keys/api-key-cache.test.ts.
test.for(quickOrLong(CASES.slice(1), CASES))(
  '$title, is refused within 5 s on another replica; new keys work at once, and known keys keep working',
  async ({ title, guessers, load, revoke }, context) => {
    await using other = await startTestService({ database: service.database, like: service.config });
    const tenant = await createTenant(service);
    using session = openHttp2Session(other.url);
    const statusWith = async (apiKey: string) => {
      const path = `/api/webhooks/wh_${'0'.repeat(32)}`;
      return String((await session.exchange({ ':path': path, 'x-api-key': apiKey })).status);
    };
    const guesses = startLoad({ guess: () => statusWith(generateApiKey()) }, { callers: guessers });
    const uses = startLoad({ use: () => statusWith(tenant.apiKey) }, load);

    const firstUses: string[] = [];
    for (let round = 0; round < quickOrLong(5, 200); round++) {
      const { apiKey } = await adminClient(service).createApiKey({ applicationId: tenant.id });
      firstUses.push(await statusWith(apiKey));
    }
    await expect.poll(() => uses.answers.length).toBeGreaterThan(0);
    const revokingAt = performance.now();
    await revoke(tenant);
    const revokedAt = performance.now();
    await expect.poll(() => uses.answers.at(-1)?.outcome).toBe('401');
    const [used, guessed] = [await uses.stop(), await guesses.stop()];

    const accepted = used.filter(({ outcome }) => outcome === '404');
    const lateMs = Math.max(0, ...accepted.map(({ startedAt }) => startedAt - revokedAt));
    report(context, {
      tried: `${title}: ${guessed.length} guesses during ${used.length} calls, ${firstUses.length} new keys`,
      figures: `the key worked for ${Math.round(lateMs)} ms`,
    });
    expect(guessed.filter(({ outcome }) => outcome !== '401')).toEqual([]);
    expect(new Set(firstUses)).toEqual(new Set(['404']));
    expect(used.filter((answer) => endOf(answer) < revokingAt && answer.outcome !== '404')).toEqual([]);
    expect(accepted.length).toBeGreaterThan(0);
    // A busy machine may take longer than a second for a look-up.
    if (quickOrLong(false, true)) expect(lateMs).toBeLessThan(REVOCATION_MS);
  },
);

async function revokeApiKey({ apiKeyId }: Tenant): Promise<void> {
  await adminClient(service).revokeApiKey({ apiKeyId });
}

async function deleteApplication({ id }: Tenant): Promise<void> {
  await adminClient(service).deleteApplication({ applicationId: id });
}

/** Authenticates with many unknown keys, and throws if one is accepted. */
async function flood() {
  const { run, count } = countStatements(database, { timeoutMs: 30_000 });
  const apiKeys = new ApiKeys(run);
  const before = usedBytes();
  const startedAt = performance.now();
  for (let at = 0; at < KEYS; at += CONCURRENCY) {
    const keys = Array.from({ length: CONCURRENCY }, generateApiKey);
    const refusals = await Promise.all(keys.map((key) => refusalOf(apiKeys.authenticate(key))));
    if (refusals.some(({ message }) => message !== 'Invalid API key')) throw new Error('A key was accepted');
  }
  return { queries: count(), tookMs: performance.now() - startedAt, grownBytes: usedBytes() - before };
}

/** Returns the size of the heap after a garbage collection. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

function toMiB(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB more`;
}
