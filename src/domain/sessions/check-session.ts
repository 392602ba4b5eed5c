import { and, eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { sessionIds, sessions } from '../../database/session-schema.ts';
import type { ApplicationCall } from '../call.ts';
import { check, identifier, integer, optional, type Unchecked, UUID } from '../validation.ts';
import { isUnended } from './live-session.ts';
import { type Session, sessionColumns } from './session.ts';

export const MAX_STALENESS_MS = 5_000;

const rules = { sessionId: identifier, maxStalenessMs: optional(integer({ min: 0, max: MAX_STALENESS_MS })) };

/** Returns the session if it is live. */
export async function checkSession(
  { application, run, now }: ApplicationCall,
  request: Unchecked<keyof typeof rules>,
): Promise<Session | undefined> {
  const { sessionId } = check(request, rules);
  if (!UUID.test(sessionId)) return undefined;
  const [session] = await run(selectSessions, { applicationId: application.id, sessionIds: `{${sessionId}}` });
  return session && session.expiresAt > now ? session : undefined;
}

/** Selects the sessions that have not been ended; some may have expired. */
const selectSessions: Statement<(Session & { id: string })[]> = (db) =>
  db
    .select({
      ...sessionColumns,
      id: sessionIds.id,
      createdAt: sessionIds.createdAt,
      expiresAt: sessionIds.expiresAt,
    })
    .from(sessionIds)
    .innerJoin(users, eq(users.id, sessionIds.userId))
    .innerJoin(
      sessions,
      and(eq(sessions.applicationId, sessionIds.applicationId), eq(sessions.userId, sessionIds.userId)),
    )
    .where(
      and(
        eq(sessionIds.applicationId, sql.placeholder('applicationId')),
        sql`${sessionIds.id} = any(${sql.placeholder('sessionIds')}::uuid[])`,
        isUnended,
      ),
    )
    .prepare('select_sessions');
