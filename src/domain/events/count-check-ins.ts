import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/template.ts';
import type { ApplicationCall } from '../core/call.ts';

export const MAX_CHECK_INS_COUNTED = 10_000;

/** Returns how many attendees have checked in to an event of the application, up to `MAX_CHECK_INS_COUNTED`. */
export async function countCheckIns({ run, application }: ApplicationCall, eventId: string): Promise<number> {
  const [row] = await run(selectCount, { applicationId: application.id, eventId });
  return row?.count ?? 0;
}

const selectCount = statement('count_check_ins', { count: t.integer })`
  select count(*)::integer as count from (
    select 1 from check_ins where application_id = ${p.uuid('applicationId')} and event_id = ${p.text('eventId')}
    limit ${sql.raw(String(MAX_CHECK_INS_COUNTED))}) as came`;
