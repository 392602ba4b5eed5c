import { and, eq, gt, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { sessions } from '../../database/session-schema.ts';
import type { ApplicationCall } from '../call.ts';
import type { PageTokens } from '../pages/page-tokens.ts';
import { newestFirst, type Page, pageLimit, pageRules, readPage, startsAfter } from '../pages/read-page.ts';
import { isActiveUser } from '../users/user.ts';
import { check, optional, type Unchecked, uuid } from '../validation.ts';
import { isLater, latestCutoff } from './cutoffs.ts';
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
  isLater(sessions.authenticatedAt, latestCutoff(sessions.userId)),
  isActiveUser,
  // Renewals do not move a session in the list: they keep this instant.
  startsAfter(sessions.beganAt, sessions.userId),
);

const selectLiveSessions: Statement<Row[]> = (db) =>
  db
    .select({ ...sessionColumns, beganAt: sessions.beganAt })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(isLive)
    .orderBy(...newestFirst(sessions.beganAt, sessions.userId))
    .limit(pageLimit)
    .prepare('select_live_sessions');

const selectLiveSessionOfUser: Statement<Row[]> = (db) =>
  db
    .select({ ...sessionColumns, beganAt: sessions.beganAt })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.userId, sql.placeholder('userId')), isLive))
    .limit(pageLimit)
    .prepare('select_live_session_of_user');
