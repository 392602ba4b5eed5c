/** The statements with Drizzle as its documentation shows: built on every call, on a pool of postgres.js. */
import { and, eq, gt, isNull, notExists, type SQL, sql } from 'drizzle-orm';
import { type PgColumn, unionAll } from 'drizzle-orm/pg-core';
import { drizzle, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import { openClient } from '../../../src/database/open-client.ts';
import {
  apiKeys,
  applications,
  checkIns,
  events,
  loginIntents,
  sessions,
  users,
  webhooks,
} from '../../../src/database/schema.ts';
import type { NewCheckIn, NewSession, Statements } from './statements.ts';

/** Returns the statements on a pool of connections to the database. */
export function createDrizzleStatements(url: string): Statements {
  const db = drizzle(openClient(url, {}));
  return {
    async selectOwner(digest) {
      const [owner] = await db
        .select({
          id: applications.id,
          name: applications.name,
          clientId: applications.clientId,
          redirectUris: applications.redirectUris,
        })
        .from(apiKeys)
        .innerJoin(applications, eq(applications.id, apiKeys.applicationId))
        .where(and(eq(apiKeys.digest, digest), isNull(apiKeys.revokedAt), isNull(applications.deletedAt)));
      return owner;
    },

    async selectWebhook(applicationId, webhookId) {
      const [webhook] = await db
        .select({
          id: webhooks.id,
          signingKey: webhooks.signingKey,
          url: webhooks.url,
          isActive: webhooks.isActive,
          ownerId: users.id,
          ownerName: users.name,
          ownerEmail: users.email,
          createdAt: webhooks.createdAt,
          updatedAt: webhooks.updatedAt,
        })
        .from(webhooks)
        .innerJoin(users, eq(users.id, webhooks.ownerId))
        .where(and(eq(webhooks.applicationId, applicationId), eq(webhooks.id, webhookId)));
      return webhook;
    },

    async findOrCreateSession(session) {
      const [found] = await findOrCreateSession(db, session);
      return found;
    },

    async insertIntent(intent) {
      await db.insert(loginIntents).values(intent);
    },

    async markDeleted(applicationId, eventId, now) {
      const deleted = await db
        .update(events)
        .set({ deletedAt: now })
        .where(and(eq(events.applicationId, applicationId), eq(events.id, eventId), isNull(events.deletedAt)))
        .returning({ id: events.id });
      return deleted.length > 0;
    },

    async insertCheckIn(checkIn) {
      const [row] = await insertCheckIn(db, checkIn);
      return row;
    },
  };
}

function findOrCreateSession(db: PostgresJsDatabase, { userId, ...session }: NewSession) {
  const now = sql.param(session.now, sessions.createdAt);
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
          eq(sessions.applicationId, session.applicationId),
          eq(sessions.userId, userId),
          gt(sessions.expiresAt, session.now),
        ),
      ),
  );
  const fresh = db
    .select({
      applicationId: sql`${session.applicationId}::uuid`.as('application_id'),
      userId: users.id,
      id: sql`${session.id}::uuid`.as('session_id'),
      email: users.email,
      name: users.name,
      profileImage: users.profileImage,
      walletAddress: users.walletAddress,
      ipAddress: sql`${session.ipAddress}::text`.as('ip_address'),
      userAgent: sql`${session.userAgent}::text`.as('user_agent'),
      createdAt: sql`${now}::timestamptz`.as('created_at'),
      expiresAt: sql`${sql.param(session.expiresAt, sessions.expiresAt)}::timestamptz`.as('expires_at'),
    })
    .from(users)
    .where(and(eq(users.id, userId), isNull(users.deletedAt), notExists(db.select({ one: sql`1` }).from(live))));
  const unlessLive = (column: PgColumn): SQL =>
    sql`case when ${sessions.expiresAt} <= ${now} then excluded.${sql.identifier(column.name)} else ${column} end`;
  const created = db.$with('created').as(
    db
      .insert(sessions)
      .select(fresh)
      .onConflictDoUpdate({
        target: [sessions.applicationId, sessions.userId],
        set: {
          id: unlessLive(sessions.id),
          email: unlessLive(sessions.email),
          name: unlessLive(sessions.name),
          profileImage: unlessLive(sessions.profileImage),
          walletAddress: unlessLive(sessions.walletAddress),
          ipAddress: unlessLive(sessions.ipAddress),
          userAgent: unlessLive(sessions.userAgent),
          createdAt: unlessLive(sessions.createdAt),
          expiresAt: unlessLive(sessions.expiresAt),
        },
      })
      .returning(shown),
  );
  return db
    .with(live, created)
    .select()
    .from(unionAll(db.select().from(live), db.select().from(created)).as('session'));
}

function insertCheckIn(db: PostgresJsDatabase, { applicationId, eventId, attendeeId, now }: NewCheckIn) {
  const open = db.$with('open_event').as(
    db
      .select({ applicationId: events.applicationId, eventId: events.id })
      .from(events)
      .where(and(eq(events.applicationId, applicationId), eq(events.id, eventId), isNull(events.deletedAt)))
      .for('share'),
  );
  return db
    .with(open)
    .insert(checkIns)
    .select(
      db
        .select({
          applicationId: open.applicationId,
          eventId: open.eventId,
          attendeeId: sql`${attendeeId}::text`.as('attendee_id'),
          checkedInAt: sql`${sql.param(now, checkIns.checkedInAt)}::timestamptz`.as('checked_in_at'),
        })
        .from(open),
    )
    .onConflictDoUpdate({
      target: [checkIns.applicationId, checkIns.eventId, checkIns.attendeeId],
      set: { attendeeId: sql`${checkIns.attendeeId}` },
    })
    .returning({ checkedInAt: checkIns.checkedInAt, alreadyCheckedIn: sql<boolean>`xmax <> 0` });
}
