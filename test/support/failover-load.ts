/** Writes that go on during a failover, and what has become of them. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { expect, type TestContext } from 'vitest';
import { type Answer, endOf, startLoad } from './load.ts';
import { clientsOf, type Tenant } from './service.ts';
import { report } from './soak.ts';

const CALLERS = 8;
const PAUSE_MS = 20;
/** An outage lasts up to a minute, and refuses each write at once. */
const PAUSE_AFTER_FAILURE_MS = 100;

type CountMissing = (sql: postgres.Sql) => Promise<number>;

/** Creates an event and returns its ID. */
export async function write(service: { url: string }, tenant: Tenant): Promise<string> {
  const eventId = randomUUID();
  await clientsOf(service, tenant).events.createEvent({ eventId });
  return eventId;
}

/** Resolves when an event can be created. */
export async function waitForWrite(service: { url: string }, tenant: Tenant): Promise<void> {
  const tryWrite = () =>
    write(service, tenant).then(
      () => 'written',
      () => 'failed',
    );
  await expect.poll(tryWrite, { interval: 20 }).toBe('written');
}

/** Creates events until it stops. */
export function startWrites(service: { url: string }, tenant: Tenant) {
  const acknowledged: string[] = [];
  const create = async () => {
    try {
      acknowledged.push(await write(service, tenant));
      return 'ok';
    } catch (error) {
      await sleep(PAUSE_AFTER_FAILURE_MS);
      throw error;
    }
  };
  const load = startLoad({ create }, { callers: CALLERS, pauseMs: PAUSE_MS });
  return {
    /** The IDs of the events whose creation was answered. */
    acknowledged,
    /** Resolves when so many more are. */
    async waitForMore(count: number, timeout = 30_000) {
      const before = acknowledged.length;
      await expect.poll(() => acknowledged.length, { interval: 10, timeout }).toBeGreaterThan(before + count);
    },
    /** Stops, reports, and expects every acknowledged event to be in the database that `find` asks. */
    async finish(context: TestContext, fault: string, find: (count: CountMissing) => Promise<number>): Promise<void> {
      const answers = await load.stop();
      const lost = await find((sql) => countMissing(sql, acknowledged));
      report(context, {
        tried: `${fault}, ${acknowledged.length} writes`,
        lost: `${lost} acknowledged writes`,
        figures: `${failuresOf(answers).length} failures, gap ${longestGap(answers)} s`,
      });
      expect(lost).toBe(0);
    },
  };
}

export function failuresOf(answers: readonly Answer[]): Answer[] {
  return answers.filter(({ outcome }) => outcome !== 'ok');
}

/** Returns how many of the events are not there. */
export async function countMissing(sql: postgres.Sql, eventIds: readonly string[]): Promise<number> {
  const [row] =
    await sql`select count(*)::int as count from usher.events where id = any(string_to_array(${eventIds.join()}, ','))`;
  return eventIds.length - row?.count;
}

/** Returns the longest time between two successes, in seconds. */
function longestGap(answers: readonly Answer[]): string {
  const ends = answers.filter(({ outcome }) => outcome === 'ok').map(endOf);
  const gaps = ends.slice(1).map((end, at) => end - (ends[at] ?? end));
  return (Math.max(0, ...gaps) / 1_000).toFixed(2);
}
