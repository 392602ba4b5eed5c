import type { Logger } from 'pino';
import type { Database } from '../database/pool/database.ts';
import { hourlyCounts } from '../database/schema/operations-schema.ts';
import type { Run } from '../database/sql/statement.ts';
import { p, statement } from '../database/sql/template.ts';
import type { ApiKeys } from '../domain/api-keys/api-keys.ts';
import type { CountName } from '../domain/core/call.ts';
import type { UnknownAddresses } from '../domain/login/record-attempt.ts';
import { pause } from '../pause.ts';

const INTERVAL_MS = 60_000;
const SAVE_TIMEOUT_MS = 5_000;

interface CountedParts {
  readonly apiKeys: Pick<ApiKeys, 'saveUses'>;
  readonly clock: () => Date;
  readonly database: Pick<Database, 'within'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** The counters of both count from the start of the process. */
  readonly mailer: { readonly outcomes: Readonly<Record<'sent' | 'failed', number>> };
  readonly unknownAddresses: Pick<UnknownAddresses, 'save'>;
  readonly delivery: { readonly outcomes: Readonly<Record<'pending' | 'succeeded' | 'failed', number>> };
}

/** Keeps the use of API keys, the counts of charts and those of unknown addresses in memory, and stores them about once a minute. */
export class MemoryCounts {
  readonly #parts: CountedParts;
  readonly #counts = new HourlyCounts();
  #stored: Readonly<Partial<Record<CountName, number>>> = {};

  constructor(parts: CountedParts) {
    this.#parts = parts;
  }

  readonly count = (name: CountName, now: Date): void => this.#counts.add(name, now);

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Jitter, so that replicas that started together do not write together.
      await pause(INTERVAL_MS * (0.5 + Math.random() / 2), signal);
      // At shutdown the server calls `save` itself, after the last call.
      if (!signal.aborted) await this.save(SAVE_TIMEOUT_MS);
    }
  }

  async save(timeoutMs: number): Promise<void> {
    const { apiKeys, clock, database, logger, unknownAddresses } = this.#parts;
    const run = database.within(performance.now() + timeoutMs);
    const warn = (message: string) => (error: unknown) => logger.warn({ err: error }, message);
    await apiKeys.saveUses(run).catch(warn('API key usage not stored'));
    await unknownAddresses.save(run, clock()).catch(warn('sign-in attempts not stored'));
    this.#addTotals(clock());
    await this.#counts.save(run).catch(warn('hourly counts not stored'));
  }

  #addTotals(now: Date): void {
    const { sent, failed } = this.#parts.mailer.outcomes;
    const attempts = this.#parts.delivery.outcomes;
    // After a failed attempt, a delivery is pending or has failed.
    const failedAttempts = attempts.pending + attempts.failed;
    const totals: readonly (readonly [CountName, number])[] = [
      ['emails', sent],
      ['failed_emails', failed],
      ['webhook_attempts', attempts.succeeded + failedAttempts],
      ['failed_webhook_attempts', failedAttempts],
    ];
    for (const [name, total] of totals) this.#counts.add(name, now, total - (this.#stored[name] ?? 0));
    this.#stored = Object.fromEntries(totals);
  }
}

const HOUR_MS = 60 * 60_000;

/** Keeps counts of each hour in memory until `save` stores them. So a call costs no write. */
export class HourlyCounts {
  /** The key is the hour since 1970, and the name. */
  #counts = new Map<string, { readonly name: CountName; readonly hour: number; count: number }>();

  add(name: CountName, now: Date, increment = 1): void {
    const hour = Math.floor(now.getTime() / HOUR_MS);
    const key = `${hour} ${name}`;
    const entry = this.#counts.get(key);
    if (entry) entry.count += increment;
    else if (increment > 0) this.#counts.set(key, { name, hour, count: increment });
  }

  /** Stores the counts since the last save. The next save retries counts that could not be stored. */
  async save(run: Run): Promise<void> {
    const unsaved = this.#counts;
    this.#counts = new Map();
    try {
      for (const [key, { name, hour, count }] of unsaved) {
        await run(addCount, { name, hour: new Date(hour * HOUR_MS), count });
        unsaved.delete(key);
      }
    } catch (error) {
      for (const { name, hour, count } of unsaved.values()) this.add(name, new Date(hour * HOUR_MS), count);
      throw error;
    }
  }
}

/** Stores one row per execution: the rows may be on several servers. */
const addCount = statement('add_hourly_count')`
  insert into hourly_counts as c (name, hour, count)
  values (${p.text('name')}, ${p.instant('hour')}, ${p.of(hourlyCounts.count, 'count')})
  on conflict (hour, name) do update set count = c.count + excluded.count`;
