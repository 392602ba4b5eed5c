import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { sessionIds, sessions } from '../../database/session-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, identifier, type Unchecked, UUID } from '../validation.ts';
import { lastAuthentication, liveSession, SESSION_LIFETIME_MS } from './session.ts';

const rules = { sessionId: identifier };

export interface RenewedSession {
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/**
 * Returns the session itself while more than half of its life is left, else its successor, beginning one unless there
 * is one. No successor outlives the longest age after the last authentication.
 *
 * @throws ServiceError `Session expired` unless the session is live
 */
export async function renewSession(
  { application, run, now }: ApplicationCall,
  { sessionMaxAgeSeconds }: { sessionMaxAgeSeconds: number },
  request: Unchecked<keyof typeof rules>,
): Promise<RenewedSession> {
  const { sessionId } = check(request, rules);
  if (!UUID.test(sessionId)) throw new ServiceError('SESSION_EXPIRED');
  const [session] = await run(findOrBeginSuccessor, {
    applicationId: application.id,
    sessionId,
    successorId: randomUUID(),
    now,
    expiresAt: new Date(now.getTime() + SESSION_LIFETIME_MS),
    maxAgeSeconds: application.sessionMaxAgeSeconds ?? sessionMaxAgeSeconds,
  });
  if (!session) throw new ServiceError('SESSION_EXPIRED');
  return session;
}

/**
 * A session that is not due is only read. Of concurrent renewals the first wins: under the row lock, the others find a
 * session that is not due any more, and return it.
 */
const findOrBeginSuccessor: Statement<RenewedSession[]> = (db) => {
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const isLive = sql`
    ${sessions.applicationId} = ${sql.placeholder('applicationId')} and ${sessions.userId} = target.user_id
    and ${sessions.expiresAt} > ${now}`;
  const latestEnd = sql`
    ${lastAuthentication} + ${sql.placeholder('maxAgeSeconds')}::int * interval '1 second'`;
  const isDue = (end: SQL) => sql`
    (${sessions.id} = ${sql.placeholder('sessionId')} and ${sessions.expiresAt} < ${end}
      and ${now} - ${sessions.createdAt} >= ${sessions.expiresAt} - ${now})`;

  const target = db.$with('target', {}).as(liveSession);
  const newest = db.$with('newest', { isDue: sql<boolean>`is_due` }).as(sql`
    select ${sessions.id}, ${sessions.createdAt}, ${sessions.expiresAt}, ${isDue(latestEnd)} as is_due,
      ${latestEnd} as latest_end
    from ${sessions}, target where ${isLive}`);
  const changes = {
    [sessions.id.name]: sql`${sql.placeholder('successorId')}::uuid`,
    [sessions.email.name]: sql`target.email`,
    [sessions.name.name]: sql`target.name`,
    [sessions.profileImage.name]: sql`target.profile_image`,
    [sessions.walletAddress.name]: sql`target.wallet_address`,
    [sessions.createdAt.name]: now,
    [sessions.expiresAt.name]: sql`least(${instantPlaceholder('expiresAt')}::timestamptz, newest.latest_end)`,
  };
  // Not computed anew: Citus adds no interval in a CASE.
  const isStillDue = isDue(sql`newest.latest_end`);
  const assignments = Object.entries(changes).map(([name, value]) => {
    const column = sql.identifier(name);
    return sql`${column} = case when ${isStillDue} then ${value} else ${sessions}.${column} end`;
  });
  const renewed = db.$with('renewed', {}).as(sql`
    update ${sessions} set ${sql.join(assignments, sql`, `)}
    from target, newest where ${isLive} and newest.is_due
    returning ${sessions.id}, ${sessions.userId}, ${sessions.authenticatedAt}, ${sessions.createdAt}, ${sessions.expiresAt}`);
  const recorded = db.$with('recorded', {}).as(sql`
    insert into ${sessionIds} (application_id, id, user_id, authenticated_at, created_at, expires_at)
    select ${sql.placeholder('applicationId')}::uuid, id, user_id, authenticated_at, created_at, expires_at
    from renewed where id = ${sql.placeholder('successorId')}`);
  const from = sql`renewed where id = ${sql.placeholder('successorId')}`;
  const audit = insertAuditEvent(db, { resource: sql`user_id`, from });
  const session = sql`(
    select id, created_at, expires_at from newest where not is_due
    union all select id, created_at, expires_at from renewed) as session`;
  return db
    .with(target, newest, renewed, recorded, audit)
    .select({
      id: sql<string>`id`,
      createdAt: sql<Date>`created_at`.mapWith(sessions.createdAt),
      expiresAt: sql<Date>`expires_at`.mapWith(sessions.expiresAt),
    })
    .from(session)
    .prepare('find_or_begin_successor');
};
