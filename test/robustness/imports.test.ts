/** Imports that are killed, that run at the same time, and that are long. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { startUsher } from '../support/process.ts';
import { ADMIN_KEY, startTestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const KILLS = quickOrLong(1, 20);
const LINES = quickOrLong(3_000, 60_000);
const LONG_IMPORT = 1_000_000;
/** What garbage may add to the memory of a long import. Kept lines would add some 500 MB. */
const MAX_GROWTH_BYTES = 200 * 2 ** 20;

function toLine(at: number, id: string = randomUUID()): string {
  const createdAt = new Date(Date.UTC(2021, 0, 1) + at * 1_000).toISOString();
  const attributes = { plan: 'pro', seats: at % 10 };
  return `${JSON.stringify({ id, externalId: `auth0|${at}`, email: `${at}@example.com`, createdAt, attributes })}\n`;
}

const newLines = (count: number) => Array.from({ length: count }, (_, at) => toLine(at));

type Status = 'created' | 'skipped' | 'failed' | 'updated';

/** Yields the status of each line as soon as it is answered. Ends early if the server does. */
async function* importLines(url: string, lines: Iterable<string>): AsyncGenerator<Status> {
  const headers = { 'x-admin-key': ADMIN_KEY };
  const sending = request(`${url}/admin/users.jsonl?onConflict=skip`, { method: 'POST', headers });
  const answered = once(sending, 'response');
  sending.on('error', () => {});
  Readable.from(lines).pipe(sending);
  const [response] = await answered;
  try {
    for await (const answer of createInterface({ input: response })) if (answer !== '') yield JSON.parse(answer).status;
  } catch (error) {
    if (!response.errored) throw error;
  }
}

async function importAll(url: string, lines: Iterable<string>): Promise<Status[]> {
  const statuses: Status[] = [];
  for await (const status of importLines(url, lines)) statuses.push(status);
  return statuses;
}

async function exportUsers({ url }: { readonly url: string }): Promise<string> {
  return (await fetch(`${url}/admin/users.jsonl`, { headers: { 'x-admin-key': ADMIN_KEY } })).text();
}

test('kill -9 of the server in the middle of an import, and the same import again, store what one import stores', {
  timeout: 900_000,
}, async (context) => {
  await using database = await cloneDatabase();
  const lines = newLines(LINES);
  const countUsers = async () => Number((await database.sql`select count(*) from users`)[0]?.count);
  for (let round = 1; round <= KILLS; round++) {
    await using usher = await startUsher(database.url);
    let answered = 0;
    for await (const status of importLines(usher.url, lines)) {
      expect(['created', 'skipped']).toContain(status);
      answered++;
      // Later answers may be on their way.
      if (answered >= (round * LINES) / (KILLS + 1) && usher.isRunning) usher.kill('SIGKILL');
    }
    expect(answered).toBeLessThan(LINES);
    expect(await countUsers()).toBeGreaterThanOrEqual(answered);
  }
  await using usher = await startUsher(database.url);
  const statuses = await importAll(usher.url, lines);
  expect(new Set(statuses)).toEqual(new Set(['created', 'skipped']));
  report(context, { tried: `${KILLS} times kill -9 in an import of ${LINES} lines` });
  await using other = await startTestService();
  expect(new Set(await importAll(other.url, lines))).toEqual(new Set(['created']));
  expect(await exportUsers(usher)).toBe(await exportUsers(other));
});

test('two imports of the same users at once, in different orders on two replicas, create each user once', async () => {
  await using service = await startTestService();
  await using replica = await startTestService({ database: service.database, like: service.config });
  const lines = newLines(LINES);
  // By their random IDs.
  const shuffled = lines.toSorted();
  const [first, second] = await Promise.all([importAll(service.url, lines), importAll(replica.url, shuffled)]);
  const others = new Map(shuffled.map((line, at) => [line, second[at]]));
  const pairs = lines.map((line, at) => [first[at], others.get(line)].sort().join());
  expect(new Set(pairs)).toEqual(new Set(['created,skipped']));
  expect((await exportUsers(service)).split('\n')).toHaveLength(LINES + 1);
});

test.runIf(quickOrLong(false, true))(
  'the memory of the server does not grow with the lines of an import',
  { timeout: 3_600_000 },
  async (context) => {
    await using database = await cloneDatabase();
    await using usher = await startUsher(database.url);
    function* lines() {
      for (let at = 0; at < LONG_IMPORT; at++) yield toLine(at);
    }
    const beganAt = performance.now();
    let answered = 0;
    let [early, most] = [0, 0];
    for await (const status of importLines(usher.url, lines())) {
      expect(status).toBe('created');
      answered++;
      if (answered % 1_000 !== 0) continue;
      const bytes = usher.residentBytes();
      if (answered <= LONG_IMPORT / 10) early = Math.max(early, bytes);
      most = Math.max(most, bytes);
    }
    const toMiB = (bytes: number) => Math.round(bytes / 2 ** 20);
    report(context, {
      tried: `an import of ${answered} users`,
      figures: `${Math.round((performance.now() - beganAt) / 1_000)} s; at most ${toMiB(early)} MiB in its first tenth, ${toMiB(most)} MiB later`,
    });
    expect(answered).toBe(LONG_IMPORT);
    expect(most - early).toBeLessThan(MAX_GROWTH_BYTES);
  },
);
