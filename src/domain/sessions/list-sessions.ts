import { sql } from 'drizzle-orm';
import { sessions } from '../../database/schema/session-schema.ts';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import { shownGroups } from '../access/has-access.ts';
import { optional, uuid } from '../core/validation.ts';
import { createList, ofApplication } from '../pages/list.ts';
import { latestCutoff } from './cutoffs.ts';
import { lastSignIn, sessionColumns } from './session.ts';

const rules = { userId: optional(uuid) };
const columns = { ...sessionColumns, beganAt: sessions.beganAt };
const { authTime: _, signedInAt: __, groups: ___, ...stored } = columns;
const select = sql`${columnsOf(stored)}, ${lastSignIn('sessions')} as auth_time, authenticated_at as signed_in_at,
  ${shownGroups(p.uuid('applicationId'), sql`sessions.user_id`)} as groups`;

const isOfApplication = sql`application_id = ${p.uuid('applicationId')}`;
const isLive = sql`${isOfApplication} and expires_at > ${p.instant('now')}
  and authenticated_at > ${latestCutoff(sql`sessions.user_id`)}
  and exists (select 1 from users u where u.id = sessions.user_id and u.deleted_at is null and u.deactivated_at is null)`;

/** Returns a page of the application's live sessions, the newest first, or the live session of one user. */
export const listSessions = createList('select_live_sessions', {
  name: 'sessions',
  of: ofApplication,
  rules,
  columns,
  select,
  // Renewals keep `beganAt`, so they do not move a session in the list.
  order: [sessions.beganAt, sessions.userId],
  among: isOfApplication,
  where: isLive,
  find: ({ userId }) => (userId === null ? undefined : selectSessionOfUser),
});

const selectSessionOfUser = statement('select_live_session_of_user', columns)`
  select ${select} from sessions where ${isLive} and user_id = ${p.uuid('userId')}`;
