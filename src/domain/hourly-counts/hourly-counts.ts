import { hourlyCounts } from '../../database/schema/operations-schema.ts';
import type { Run } from '../../database/sql/statement.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { CountName } from '../core/call.ts';

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
