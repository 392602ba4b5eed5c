import { sql } from 'drizzle-orm';
import { nullable, p, statement, t } from '../../database/template.ts';
import type { Call } from '../core/call.ts';
import { type Affected, cutOffRefused } from './lost-access.ts';

const BATCH = 500;
/** Before every ID. */
const START = '00000000-0000-0000-0000-000000000000';

/**
 * Ends the sign-ins of all users who may not enter an application that has become restricted: those with a session, a
 * grant, or a login of the last hours, whose auth token may be unused. A repeated call goes on after one that was cut
 * short. Returns the users.
 */
export async function endRefused(call: Call, applicationId: string): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  for (const select of [selectSessions, selectGrants, selectLogins]) {
    for (let after = START, isLast = false; !isLast; ) {
      const rows = await call.run(select, { applicationId, after, now: call.now });
      const fresh = new Set(rows.flatMap(({ userId }) => (userId === null || seen.has(userId) ? [] : [userId])));
      const affected = [...fresh].map((userId): Affected => [applicationId, userId]);
      await cutOffRefused(call, affected);
      for (const userId of fresh) seen.add(userId);
      after = rows.at(-1)?.id ?? after;
      isLast = rows.length < BATCH;
    }
  }
  return seen;
}

const ROW = { id: t.uuid, userId: nullable(t.uuid) };
const limit = sql.raw(`${BATCH}`);

const selectSessions = statement('select_sessions_to_check', ROW)`
  select user_id as id, user_id from sessions
  where application_id = ${p.uuid('applicationId')} and user_id > ${p.uuid('after')} order by user_id limit ${limit}`;

const selectGrants = statement('select_grants_to_check', ROW)`
  select id, user_id from oidc_grants
  where application_id = ${p.uuid('applicationId')} and id > ${p.uuid('after')} order by id limit ${limit}`;

const selectLogins = statement('select_logins_to_check', ROW)`
  select id, user_id from login_intents
  where application_id = ${p.uuid('applicationId')} and id > ${p.uuid('after')} order by id limit ${limit}`;
