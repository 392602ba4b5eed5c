import { randomUUID } from 'node:crypto';
import { and, eq, getTableColumns, gt, isNull, notExists, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, unionAll } from 'drizzle-orm/pg-core';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder, sessions, users } from '../../database/schema.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import type { AuthTokens } from '../login/auth-tokens.ts';
import type { Profile } from '../users/profile.ts';
import { check, textOfBytes, type Unchecked } from '../validation.ts';

/** Interface, "Limits": a session expires after 15 minutes. */
const SESSION_LIFETIME_MS = 15 * 60_000;

const rules = { authToken: textOfBytes(8192) };

/** The caller, as a session records it. */
export interface Peer {
  readonly ipAddress: string;
  readonly userAgent: string;
}

/** A session, with the user's profile as it was when the session began. */
export interface Session extends Profile {
  readonly id: string;
  readonly createdAt: Date;
}

/**
 * Returns the live session of the user, or creates one.
 *
 * @throws ServiceError `Invalid or expired token`, `User not found`
 */
export async function exchangeToken(
  { application, run, now }: ApplicationCall,
  tokens: AuthTokens,
  peer: Peer,
  request: Unchecked<keyof typeof rules>,
): Promise<Session> {
  const { authToken } = check(request, rules);
  const { userId } = await tokens.verify(authToken, application.clientId, now);
  const [session] = await run(findOrCreateSession, {
    applicationId: application.id,
    userId,
    id: randomUUID(),
    ipAddress: peer.ipAddress,
    userAgent: peer.userAgent,
    now,
    expiresAt: new Date(now.getTime() + SESSION_LIFETIME_MS),
  });
  if (!session) throw new ServiceError('USER_NOT_FOUND');
  return session;
}

/**
 * A live session is only read. Otherwise the row of the application and user is inserted or overwritten. Of
 * concurrent exchanges the first wins: under the row lock, the others find a session that has not expired
 * and keep it.
 */
const findOrCreateSession: Statement<Session[]> = (db) => {
  const now = instantPlaceholder('now');
  const { applicationId: _, userId: __, ...begun } = getTableColumns(sessions);
  const shown = {
    id: sessions.id,
    email: sessions.email,
    name: sessions.name,
    profileImage: sessions.profileImage,
    walletAddress: sessions.walletAddress,
    createdAt: sessions.createdAt,
  };
  const live = db.$with('live').as(
    db
      .select(shown)
      .from(sessions)
      .innerJoin(users, and(eq(users.id, sessions.userId), isNull(users.deletedAt)))
      .where(
        and(
          eq(sessions.applicationId, sql.placeholder('applicationId')),
          eq(sessions.userId, sql.placeholder('userId')),
          gt(sessions.expiresAt, now),
        ),
      ),
  );
  const created = db.$with('created').as(
    db
      .insert(sessions)
      .select(
        db
          .select({
            applicationId: sql`${sql.placeholder('applicationId')}::uuid`.as('application_id'),
            userId: users.id,
            id: sql`${sql.placeholder('id')}::uuid`.as('session_id'),
            email: users.email,
            name: users.name,
            profileImage: users.profileImage,
            walletAddress: users.walletAddress,
            ipAddress: sql`${sql.placeholder('ipAddress')}::text`.as('ip_address'),
            userAgent: sql`${sql.placeholder('userAgent')}::text`.as('user_agent'),
            createdAt: sql`${now}::timestamptz`.as('created_at'),
            expiresAt: sql`${instantPlaceholder('expiresAt')}::timestamptz`.as('expires_at'),
          })
          .from(users)
          .where(
            and(
              eq(users.id, sql.placeholder('userId')),
              isNull(users.deletedAt),
              notExists(db.select({ one: sql`1` }).from(live)),
            ),
          ),
      )
      .onConflictDoUpdate({
        target: [sessions.applicationId, sessions.userId],
        set: Object.fromEntries(Object.entries(begun).map(([name, column]) => [name, unlessLive(column)])),
      })
      .returning(shown),
  );
  return db
    .with(live, created)
    .select()
    .from(unionAll(db.select().from(live), db.select().from(created)).as('session'))
    .prepare('find_or_create_session');
};

/** Keeps the old value while the old session lives. */
function unlessLive(column: PgColumn): SQL {
  const isOver = sql`${sessions.expiresAt} <= excluded.${sql.identifier(sessions.createdAt.name)}`;
  return sql`case when ${isOver} then excluded.${sql.identifier(column.name)} else ${column} end`;
}
