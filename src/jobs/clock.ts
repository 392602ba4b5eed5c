import type { DatabaseClock } from '../domain/core/database-clock.ts';
import { pause } from '../pause.ts';

const INTERVAL_MS = 1_000;
const TIMEOUT_MS = 1_000;

/** Measures the clock of Postgres every second. While Postgres is unavailable, earlier measurements apply. */
export async function runClockJob(clock: Pick<DatabaseClock, 'measure'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(INTERVAL_MS, signal);
    await clock.measure(performance.now() + TIMEOUT_MS).catch(() => {});
  }
}
