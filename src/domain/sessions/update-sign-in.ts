import { and, eq, sql } from 'drizzle-orm';
import { matches, type Statement } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { sessions } from '../../database/session-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import { lastAuthentication } from './session.ts';

/** Whether a token is from a later sign-in than the session. Placeholder: authenticatedAt. */
export const isOutdated = sql<boolean>`${lastAuthentication} < ${instantPlaceholder('authenticatedAt')}`;

/**
 * Makes a session one of a later sign-in, unless it has ended. Cut-offs end it by the first sign-in nevertheless: they end
 * IDs that were given out before.
 */
export const updateSignIn: Statement<unknown> = (db) => {
  const updated = db.$with('updated').as(
    db
      .update(sessions)
      .set({
        lastAuthenticatedAt: sql`${instantPlaceholder('authenticatedAt')}`,
        method: sql`${sql.placeholder('method')}`,
      })
      .where(
        and(matches(sessions, 'applicationId', 'userId'), eq(sessions.id, sql.placeholder('sessionId')), isOutdated),
      )
      .returning({ userId: sessions.userId }),
  );
  const audit = insertAuditEvent(db, { resource: sql`user_id`, from: sql`updated` });
  return db.with(updated, audit).select().from(updated).prepare('update_sign_in');
};
