import type { Logger } from 'pino';
import type { Database } from '../database/pool/database.ts';
import type { ApiKeys } from '../domain/api-keys/api-keys.ts';
import type { CountName } from '../domain/core/call.ts';
import { HourlyCounts } from '../domain/hourly-counts/hourly-counts.ts';
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
  readonly delivery: { readonly outcomes: Readonly<Record<'pending' | 'succeeded' | 'failed', number>> };
}

/** Keeps the use of API keys and the counts of charts in memory, and stores them about once a minute. */
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
    const { apiKeys, clock, database, logger } = this.#parts;
    const run = database.within(performance.now() + timeoutMs);
    const warn = (message: string) => (error: unknown) => logger.warn({ err: error }, message);
    await apiKeys.saveUses(run).catch(warn('API key usage not stored'));
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
