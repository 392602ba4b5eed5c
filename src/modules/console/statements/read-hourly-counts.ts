import { hourlyCounts } from '../../../database/schema/operations-schema.ts';
import { columnsOf, p, type RowOfType, statement } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';

const HOUR_MS = 60 * 60_000;
const HOURS = 24;

const columns = { name: hourlyCounts.name, hour: hourlyCounts.hour, count: hourlyCounts.count };

export type HourlyCount = RowOfType<typeof columns>;

/** Returns the stored counts of this hour and of the 23 before. An hour without counts has no row. */
export async function readHourlyCounts({ run, now }: Pick<Call, 'run' | 'now'>): Promise<readonly HourlyCount[]> {
  const thisHour = Math.floor(now.getTime() / HOUR_MS) * HOUR_MS;
  return run(selectCounts, { since: new Date(thisHour - (HOURS - 1) * HOUR_MS) });
}

const selectCounts = statement('select_hourly_counts', columns)`
  select ${columnsOf(columns)} from hourly_counts where hour >= ${p.instant('since')} order by hour, name`;
