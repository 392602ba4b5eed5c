import { statement, t } from '../sql/template.ts';

/** Not `clock_timestamp`: it is volatile, and a test demands that statements that read call no volatile function. */
export const selectTime = statement('select_time', { time: t.float })`
  select (extract(epoch from statement_timestamp()) * 1000)::float8 as time`;
