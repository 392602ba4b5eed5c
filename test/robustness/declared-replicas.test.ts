/** Replicas with two files that restart and are killed at random: all of a file or nothing, and the highest revision at the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { openDeclaredFixture } from '../support/declared-fixture.ts';
import { startUsher } from '../support/process.ts';
import { quickOrLong } from '../support/soak.ts';

const ENTRIES = 200;
const RUN_MS = quickOrLong(20_000, 60_000);

/** Every application says which file it is of. */
function fileAt(revision: number | undefined, name: string): string {
  const applications = Array.from({ length: ENTRIES }, (_, index) => ({
    clientId: `application-${index}`,
    name,
    redirectUris: ['https://app.test/'],
  }));
  return JSON.stringify({ revision, applications });
}

describe.each([
  ['with revisions', 1, 2],
  ['without revisions', undefined, undefined],
])('two files %s', (_, first, second) => {
  test('are each applied whole, one event per change', async () => {
    await using database = await cloneDatabase();
    const { sql } = database;
    const texts = [fileAt(first, 'Old'), fileAt(second, 'Young')];
    const until = performance.now() + RUN_MS;
    const names = async () =>
      (await sql`select distinct name from applications where client_id like 'application-%'`).map(({ name }) => name);
    const restart = async (text: string) => {
      while (performance.now() < until) {
        const env = { APPLICATIONS_FILE: 'applications.json' };
        const starting = startUsher(database.url, env, { files: { 'applications.json': text } });
        const usher = await starting;
        // Within a start, and after it.
        await sleep(Math.random() * 500);
        await usher.end(Math.random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
        expect((await names()).length).toBeLessThanOrEqual(1);
      }
    };
    await Promise.all(texts.map(restart));
    const [{ applied } = { applied: 0 }] = await sql`select count(*)::int as applied from audit_events
      where actor_type = 'file' and resource = (select id::text from applications where client_id = 'application-0')`;
    const [{ total } = { total: 0 }] =
      await sql`select count(*)::int as total from audit_events where actor_type = 'file'`;
    expect(total).toBe(applied * ENTRIES);
    if (second === undefined) return;
    expect(await names()).toEqual(['Young']);
    expect(await sql`select revision from declared_files`).toEqual([{ revision: 2 }]);
    expect(applied).toBeLessThanOrEqual(2);
  });
});

test('a file whose application is interrupted leaves nothing', async () => {
  await using database = await cloneDatabase();
  const { sql } = database;
  await using declared = openDeclaredFixture(database);
  const applying = declared.apply(fileAt(1, 'Whole')).then(
    () => 'applied',
    () => 'failed',
  );
  // Ends its connection between two statements, as the death of its process does.
  let ended: readonly unknown[] = [];
  while (ended.length === 0) {
    ended = await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'usher transactions' and query like '%insert into applications%'`;
  }
  expect(await applying).toBe('failed');
  expect(await sql`select from applications where client_id like 'application-%'`).toEqual([]);
  expect(await sql`select from declared_files`).toEqual([]);
  expect(await declared.apply(fileAt(1, 'Whole'))).toBe('new');
  expect(await sql`select from applications where name = 'Whole'`).toHaveLength(ENTRIES);
});
