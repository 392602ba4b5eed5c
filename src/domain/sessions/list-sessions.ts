import { and, eq, gt, type SQL, sql } from 'drizzle-orm';
import type { Db, Statement } from '../../database/database.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { sessions } from '../../database/session-schema.ts';
import type { ApplicationCall } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageRules, readPage, selectPage } from '../pages/read-page.ts';
import { isActiveUser } from '../users/user.ts';
import { check, optional, type Unchecked, uuid } from '../validation.ts';
import { latestCutoff } from './cutoffs.ts';
import { type Session, sessionColumns } from './session.ts';

const rules = { userId: optional(uuid), ...pageRules };

/** Returns a page of the application's live sessions, or the one of a user. The last sign-in comes first. */
export async function listSessions(
  { application, run, now }: ApplicationCall,
  pageTokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<Page<Session>> {
  const { userId, ...page } = check(request, rules);
  const parameters = { applicationId: application.id, now };
  return readPage(
    pageTokens,
    ['sessions', application.id, userId],
    page,
    (position) =>
      userId === null
        ? run(selectLiveSessions, { ...parameters, ...position })
        : run(selectLiveSessionOfUser, { ...parameters, ...position, userId }),
    ({ beganAt, userId }) => ({ at: beganAt, id: userId }),
  );
}

type Row = Session & { readonly beganAt: Date };

const isLive = and(
  eq(sessions.applicationId, sql.placeholder('applicationId')),
  gt(sessions.expiresAt, instantPlaceholder('now')),
  gt(sessions.authenticatedAt, latestCutoff(sessions.userId)),
  sql`exists (select 1 from ${users} where ${users.id} = ${sessions.userId} and ${isActiveUser})`,
);

const selectLiveSessions: Statement<Row[]> = (db) => selectSessions(db, isLive).prepare('select_live_sessions');

const selectLiveSessionOfUser: Statement<Row[]> = (db) =>
  selectSessions(db, and(isLive, eq(sessions.userId, sql.placeholder('userId')))).prepare(
    'select_live_session_of_user',
  );

function selectSessions(db: Db, condition: SQL | undefined) {
  // Renewals do not move a session in the list: they keep this instant.
  const order = [sessions.beganAt, sessions.userId] as const;
  return db
    .select({ ...sessionColumns, beganAt: sessions.beganAt })
    .from(selectPage(db, sessions, order, condition))
    .orderBy(...newestFirst(...order));
}
