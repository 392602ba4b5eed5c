import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { sessions } from '../../database/schema/session-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, type Unchecked, UUID } from '../core/validation.ts';
import { type AttributesOf, formFor, inForms } from './forms.ts';
import { latestEnd, parametersOf, renewableSession, SESSION_LIFETIME_MS, type SessionSettings } from './session.ts';

const rules = { sessionId: identifier };

export interface RenewedSession {
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/**
 * Returns the session itself while more than half of its lifetime is left. After that, returns its successor, and
 * begins one if there is none. A successor expires at the latest when the maximum age since the last sign-in is
 * reached. An expired session has a successor, too, for as long as the application allows. But if the user has a newer
 * live session, that session is returned. Not if the application has come to demand more than the last sign-in has shown.
 *
 * @throws ServiceError `Session expired` if it cannot be renewed
 */
export async function renewSession(
  call: ApplicationCall,
  settings: SessionSettings,
  request: Unchecked<keyof typeof rules>,
): Promise<RenewedSession> {
  const { sessionId } = check(request, rules);
  if (!UUID.test(sessionId)) throw new ServiceError('SESSION_EXPIRED');
  const [session] = await call.run(formFor(FIND_OR_BEGIN, call.application), {
    ...parametersOf(call, settings),
    sessionId,
    successorId: randomUUID(),
    expiresAt: new Date(call.now.getTime() + SESSION_LIFETIME_MS),
  });
  if (!session) throw new ServiceError('SESSION_EXPIRED');
  return session;
}

/** A sign-in from before the application demanded more must not last longer than its session. */
const suffices = sql`and s.assurance >= ${p.integer('requiredAssurance')}`;

/** The columns that a renewal changes, and their new values. */
const CHANGES = {
  id: p.uuid('successorId'),
  email: sql`target.email`,
  name: sql`target.name`,
  profile_image: sql`target.profile_image`,
  wallet_address: sql`target.wallet_address`,
  attributes: sql`target.attributes`,
  created_at: p.instant('now'),
  expires_at: sql`least(${p.instant('expiresAt')}, newest.latest_end)`,
};

const SUCCESSOR = { id: sessions.id, createdAt: sessions.createdAt, expiresAt: sessions.expiresAt };

const FIND_OR_BEGIN = inForms(
  'find_or_begin_successor',
  (name, attributesOf) => statement(name, SUCCESSOR)`${findOrBegin(attributesOf)}`,
);

/**
 * A session that is not due is only read. Of concurrent renewals the first wins: under the row lock, the others find a
 * session that is not due any more, and return it. If a sign-in after a revocation has overwritten the row meanwhile,
 * the `cutoff_at` of the row prevents the renewal.
 */
function findOrBegin(attributesOf: AttributesOf): SQL {
  return sql`
  with target as (${renewableSession(attributesOf, suffices)}
  ), newest as (
    select s.*, ${isDue(sql`s.latest_end`)} as is_due from (
      select s.id, s.created_at, s.expires_at, ${latestEnd(sql`s.authenticated_at`, sql`s.last_authenticated_at`)}
        as latest_end
      from sessions s join target on s.user_id = target.user_id
      where s.application_id = ${p.uuid('applicationId')}
    ) s
  ), renewed as (
    update sessions s set ${assignChanges()}
    from target, newest
    where s.application_id = ${p.uuid('applicationId')} and s.user_id = target.user_id and newest.is_due
      and target.authenticated_at > coalesce(s.cutoff_at, '-infinity')
    returning s.id, s.user_id, s.authenticated_at, s.created_at, s.expires_at
  ), begun as (
    select * from renewed where id = ${p.uuid('successorId')}
  ), recorded as (
    insert into session_ids (application_id, id, user_id, authenticated_at, created_at, expires_at, kept_until)
    select ${p.uuid('applicationId')}, id, user_id, authenticated_at, created_at, expires_at,
      expires_at + ${p.integer('graceSeconds')} * interval '1 second'
    from begun
  ), ${auditEvent({ resource: sql`user_id`, from: sql`begun` })}
  select id, created_at, expires_at from newest where not is_due and expires_at > ${p.instant('now')}
  union all select id, created_at, expires_at from renewed`;
}

/**
 * Returns the condition that session `s` needs a successor, and that a successor would expire later. It needs one if it
 * is the given session and at most half of its lifetime is left, or if it has expired and a successor would be live.
 */
function isDue(latestEnd: SQL): SQL {
  const now = p.instant('now');
  return sql`(s.expires_at < ${latestEnd} and (
    s.id = ${p.uuid('sessionId')} and ${now} - s.created_at >= s.expires_at - ${now}
    or s.expires_at <= ${now} and ${latestEnd} > ${now}))`;
}

/**
 * Postgres evaluates each CASE again under the row lock. It uses `newest.latest_end`, because a sum with an interval
 * depends on a time zone, which an update must not.
 */
function assignChanges(): SQL {
  const assignments = Object.entries(CHANGES).map(([name, value]) => {
    const column = sql.raw(name);
    return sql`${column} = case when ${isDue(sql`newest.latest_end`)} then ${value} else s.${column} end`;
  });
  return sql.join(assignments, sql`, `);
}
