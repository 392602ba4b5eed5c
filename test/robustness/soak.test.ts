import { setTimeout as sleep } from 'node:timers/promises';
import type postgres from 'postgres';
import { expect, test } from 'vitest';
import { openClient } from '../../src/database/open-client.ts';
import { longestOf, startLoad } from '../support/load.ts';
import { holdLock } from '../support/lock.ts';
import { createSubjects, MixedCalls, PROTOCOLS, type Subjects, undocumented } from '../support/mixed-calls.ts';
import { OwnPostgres } from '../support/own-postgres.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { type ProxyMode, TcpProxy } from '../support/tcp-proxy.ts';

const SOAK_MS = Number(process.env.SOAK_MINUTES ?? 10) * 60_000;
const CALLERS = 34;
const PAUSE_MS = 5;
/** V8 takes more memory for the first 30,000 calls. */
const WARM_UP_MS = 60_000;
/** The time between faults. */
const CALM_MS = 3_000;
/** The shortest and the longest fault. */
const FAULT_MS = [500, 6_000] as const;
/** The time in which silent connections are given up. */
const COOL_DOWN_MS = 15_000;
const GROWTH_MB = 64;
/** Persistent HTTP/2 connections of Connect's clients, and the control connection to Postgres. */
const GROWTH_FILES = 4;

const MODES: readonly ProxyMode[] = ['reset', 'close', 'refuse', 'freeze', 'trickle', 'delay'];
const TABLES = ['applications', 'api_keys', 'users', 'login_intents', 'sessions', 'webhooks', 'events', 'check_ins'];

test.runIf(quickOrLong(false, true))(
  'after minutes of mixed load and random faults, every call succeeds, and memory and files have not grown',
  async (context) => {
    await using server = await OwnPostgres.start();
    await using proxy = await TcpProxy.open(server.url);
    await using usher = await startUsher(proxy.through(server.url));
    const subjects = await createSubjects(usher);
    await applyLoad(usher, subjects, () => sleep(WARM_UP_MS));
    await sleep(CALM_MS);
    const before = { memoryMb: usher.residentBytes() / 1e6, files: usher.openFiles() };

    const faults = faultsOf(server, proxy);
    const happened: Record<string, number> = {};
    let calmAt = Number.POSITIVE_INFINITY;
    const answers = await applyLoad(usher, subjects, async () => {
      const endAt = performance.now() + SOAK_MS;
      while (performance.now() < endAt) {
        const [name, fail] = pick(Object.entries(faults));
        await fail(FAULT_MS[0] + Math.random() * (FAULT_MS[1] - FAULT_MS[0]));
        happened[name] = (happened[name] ?? 0) + 1;
        await sleep(CALM_MS);
        expect(usher.isRunning, usher.errors).toBe(true);
      }
      await sleep(COOL_DOWN_MS);
      calmAt = performance.now();
      await sleep(CALM_MS);
    });
    await sleep(CALM_MS);
    const after = { memoryMb: usher.residentBytes() / 1e6, files: usher.openFiles() };

    const failed = answers.filter(({ outcome }) => outcome === 'unavailable');
    const faultCounts = Object.entries(happened).map(([name, times]) => `${times} ${name}`);
    report(context, {
      tried: `${(SOAK_MS / 60_000).toFixed(0)} minutes, ${answers.length} calls: ${faultCounts.join(', ')}`,
      lost: `${undocumented(answers).length} undocumented replies`,
      figures: `${failed.length} calls unavailable, the longest ${longestOf(answers).toFixed(0)} ms; memory ${before.memoryMb.toFixed(0)} and ${after.memoryMb.toFixed(0)} MB, open files ${before.files} and ${after.files}`,
    });
    expect(undocumented(answers).slice(0, 10)).toEqual([]);
    expect(answers.filter(({ startedAt, outcome }) => startedAt > calmAt && outcome !== 'ok')).toEqual([]);
    expect(after.memoryMb).toBeLessThan(before.memoryMb + GROWTH_MB);
    expect(after.files).toBeLessThanOrEqual(before.files + GROWTH_FILES);
    expect(usher.errors).toBe('');
  },
);

/** Makes calls for as long as `during` takes. Resolves to the answers when the connections are closed. */
async function applyLoad(usher: UsherProcess, subjects: Subjects, during: () => Promise<void>) {
  using calls = new MixedCalls(usher, subjects);
  const load = startLoad(calls.over(...PROTOCOLS), { callers: CALLERS, pauseMs: PAUSE_MS });
  await during();
  // Awaited here, because the connections close when this function returns.
  return await load.stop();
}

/** Returns the faults by name; each takes about as long as its argument says. */
function faultsOf(server: OwnPostgres, proxy: TcpProxy) {
  const withSql = async (act: (sql: postgres.Sql) => Promise<unknown>) => {
    const sql = openClient(server.url, { max: 1, onnotice: () => {} });
    await act(sql).finally(() => sql.end({ timeout: 1 }));
  };
  return {
    'kill -9': async (durationMs: number) => {
      await server.kill();
      await sleep(durationMs);
      await server.bringBack();
    },
    'broken links': async (durationMs: number) => {
      await proxy.setMode(pick(MODES));
      await sleep(durationMs);
      await proxy.setMode('pass');
    },
    'ended connections': (durationMs: number) =>
      withSql(async (sql) => {
        const until = performance.now() + durationMs;
        while (performance.now() < until) {
          await sql`select pg_terminate_backend(pid) from pg_stat_activity
            where application_name like 'usher %' order by random() limit 1`;
          await sleep(Math.random() * 300);
        }
      }),
    'locked tables': (durationMs: number) =>
      withSql(async (sql) => {
        await using _lock = await holdLock({ sql }, `lock table ${pick(TABLES)} in access exclusive mode`);
        await sleep(durationMs);
      }),
  };
}

function pick<T>(items: readonly T[]): T {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('Nothing to pick from');
  return item;
}
