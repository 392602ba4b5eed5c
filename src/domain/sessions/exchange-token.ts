import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { sessions } from '../../database/session-schema.ts';
import { columnsOf, nullable, p, type RowOfType, statement, t } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import type { AuthTokens } from '../login/auth-tokens.ts';
import { InvalidTokenError, type SignInMethod } from '../login/verify-token.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { check, textOfBytes, type Unchecked } from '../validation.ts';
import {
  announce,
  HAS_MESSAGES,
  type HasMessages,
  hasSubscriberToAny,
  messagesOf,
  notified,
} from '../webhooks/insert-message.ts';
import { sessionCreated, userJoined } from '../webhooks/user-messages.ts';
import { latestCutoff } from './cutoffs.ts';
import { endLateSession } from './late-sessions.ts';
import { type BegunSession, graceSecondsOf, lastSignIn, type Peer, SESSION_LIFETIME_MS } from './session.ts';
import { findSessionOrigin, ORIGINS, type OriginSource, UNKNOWN_ORIGIN } from './session-origin.ts';
import { updateSignIn } from './update-sign-in.ts';

const rules = { authToken: textOfBytes(8192) };

interface ExchangeParts {
  readonly tokens: AuthTokens;
  readonly sessionMaxAgeSeconds: number;
  /** Whether the database is on Citus. */
  readonly isOnCitus: boolean;
  /** Applications known to have a webhook for what a session tells of: they try the slower statement first. */
  readonly subscribed?: Set<string>;
}

/**
 * Returns the newest live session of the user, or begins one. A token of a later sign-in makes the session one of it.
 *
 * @throws ServiceError `Invalid or expired token`, also for one from before a cut-off; `User not found`
 */
export async function exchangeToken(
  call: ApplicationCall,
  { tokens, sessionMaxAgeSeconds, isOnCitus, subscribed = new Set() }: ExchangeParts,
  peer: Peer,
  request: Unchecked<keyof typeof rules>,
): Promise<BegunSession> {
  const { application, run, now, onMessage, onWait } = call;
  const { authToken } = check(request, rules);
  const login = await tokens.verify(authToken, application.clientId, now, onWait);
  const maxAgeMs = (application.sessionMaxAgeSeconds ?? sessionMaxAgeSeconds) * 1_000;
  const endsAt = Math.min(now.getTime() + SESSION_LIFETIME_MS, login.authenticatedAt.getTime() + maxAgeMs);
  const parameters = {
    ...login,
    ...peer,
    applicationId: application.id,
    id: randomUUID(),
    now,
    expiresAt: new Date(endsAt),
    keptUntil: new Date(endsAt + graceSecondsOf(application) * 1_000),
  };
  const source = isOnCitus ? 'parameters' : 'intent';
  let origin = UNKNOWN_ORIGIN;
  for (let notifies = subscribed.has(application.id); ; ) {
    const values = isOnCitus ? { ...parameters, ...origin } : parameters;
    const [found]: readonly FoundSession[] = notifies
      ? await run(findOrBeginSessionAndNotify[source], values)
      : await run(findOrBeginSession[source], values);
    if (!found) throw new ServiceError('USER_NOT_FOUND');
    const { isAccepted, isOutdated, session, notifiedIds = [] } = found;
    if (!isAccepted) throw new InvalidTokenError();
    if (isOutdated !== false && isOnCitus && !origin.isOriginKnown) {
      origin = await findSessionOrigin(call, parameters);
      continue;
    }
    if (isOutdated) await run(updateSignIn[source], { ...values, sessionId: session.id });
    // There is no session if a webhook subscribes to its message, or if a concurrent exchange has just begun it.
    if (isOutdated !== false) {
      notifies = true;
      continue;
    }
    announce(onMessage, { notifiedIds });
    if (notifiedIds.length > 0) subscribed.add(application.id);
    else if (session.id === parameters.id) subscribed.delete(application.id);
    const late = session.id === parameters.id ? await endLateSession(call, { ...parameters, leaves: true }) : undefined;
    if (!late) return session;
    if (late.isOfErased) await removeIfErased(call, login.userId);
    // The token is refused now.
  }
}

/** What a new session may tell of. */
const TOLD = ['session.created', 'user.created'] as const;

/** The columns of a session that the call gives. */
const GIVEN = {
  id: p.uuid('id'),
  method: p.text('method'),
  authenticated_at: p.instant('authenticatedAt'),
  last_authenticated_at: sql`null`,
  began_at: p.instant('now'),
  created_at: p.instant('now'),
  expires_at: p.instant('expiresAt'),
};
const given = sql.join(Object.values(GIVEN), sql`, `);
/** Those that the statement finds out. */
const FOUND_OUT = ['email', 'name', 'profile_image', 'wallet_address', 'cutoff_at', 'ip_address', 'user_agent'];
const replaced = sql.raw([...FOUND_OUT, ...Object.keys(GIVEN)].join(', '));
const excluded = sql.raw(FOUND_OUT.map((name) => `excluded.${name}`).join(', '));

const { id, userId, email, name, profileImage, walletAddress, createdAt, expiresAt } = sessions;

const PROFILE_COLUMNS = { userId, email, name, profileImage, walletAddress };
const STORED = { id, ...PROFILE_COLUMNS, createdAt, expiresAt, method: t.textOf<SignInMethod>() };

/** What an application learns of a session. */
const SHOWN = { ...STORED, authTime: t.instant };
const shown = columnsOf(SHOWN);

const FOUND = {
  /** Whether the token is from after the cut-offs of the user's sessions. */
  isAccepted: t.boolean,
  /** Null if there is no session. */
  isOutdated: nullable(t.boolean),
  session: SHOWN,
};

type FoundSession = RowOfType<typeof FOUND> & Partial<HasMessages>;

const findOrBeginSession = {
  intent: statement('find_or_begin_session', FOUND)`${findOrBegin('intent', { notifies: false })}`,
  parameters: statement(
    'find_or_begin_session_by_parameters',
    FOUND,
  )`${findOrBegin('parameters', { notifies: false })}`,
};
const NOTIFIES = { ...FOUND, ...HAS_MESSAGES };
const findOrBeginSessionAndNotify = {
  intent: statement('find_or_begin_session_and_notify', NOTIFIES)`${findOrBegin('intent', { notifies: true })}`,
  parameters: statement('find_or_begin_session_by_parameters_and_notify', NOTIFIES)`
    ${findOrBegin('parameters', { notifies: true })}`,
};

/**
 * A live session is only read. Otherwise the row of the application and user is inserted or overwritten. Of concurrent
 * exchanges the first wins: under its row lock the others find a session that is not over, and begin none. Without
 * `notifies`, no session begins if a webhook subscribes to its messages: that CTE costs time even if it inserts nothing.
 */
function findOrBegin(source: OriginSource, { notifies }: { notifies: boolean }): SQL {
  const { address, userAgent, join, isKnown } = ORIGINS[source];
  return sql`
    with live as (
      -- Read before the cut-offs: on Citus each part sees what was committed before it. A revocation in between would
      -- else remove the session, and another begin that the revocation has ended.
      select *, ${lastSignIn('s')} as auth_time from sessions s
      where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('userId')}
        and expires_at > ${p.instant('now')}
    ), caller as (
      select *, ${latestCutoff(sql`id`)} as cutoff_at from users
      where id = ${p.uuid('userId')} and deleted_at is null and deactivated_at is null
    ), unended as (
      select live.*, auth_time < ${p.instant('authenticatedAt')} as is_outdated
      from live join caller on authenticated_at > caller.cutoff_at
    ), begun as (
      insert into sessions as s (application_id, user_id, ${replaced})
      select ${p.uuid('applicationId')}, caller.id, email, name, profile_image, wallet_address, cutoff_at,
        coalesce(${address}, ${p.text('ipAddress')}), coalesce(${userAgent}, ${p.text('userAgent')}), ${given}
      from caller ${join}
      where ${isKnown} and ${p.instant('authenticatedAt')} > cutoff_at and not exists (select 1 from unended)
        ${notifies ? sql`` : sql`and not ${hasSubscriberToAny(TOLD, p.uuid('applicationId'))}`}
      on conflict (application_id, user_id) do update set (${replaced}) = row(${excluded}, ${given})
      where s.expires_at <= ${p.instant('now')} or s.authenticated_at <= excluded.cutoff_at
      returning *
    ), recorded as (
      insert into session_ids (application_id, id, user_id, authenticated_at, created_at, expires_at, kept_until)
      select ${p.uuid('applicationId')}, ${p.uuid('id')}, user_id, ${p.instant('authenticatedAt')}, ${p.instant('now')},
        ${p.instant('expiresAt')}, ${p.instant('keptUntil')}
      from begun
    ), joined as (
      insert into application_users as u (application_id, user_id, first_signed_in_at, last_signed_in_at)
      select ${p.uuid('applicationId')}, user_id, ${p.instant('now')}, ${p.instant('now')} from begun
      -- Looked up first: a conflict would lock the row, which is a write.
      where not exists (
        select 1 from application_users k
        where k.application_id = ${p.uuid('applicationId')} and k.user_id = ${p.uuid('userId')}
          and k.last_signed_in_at > ${p.instant('now')} - interval '1 day'
      )
      on conflict (application_id, user_id) do update set last_signed_in_at = excluded.last_signed_in_at
      returning u.user_id, u.first_signed_in_at = u.last_signed_in_at as is_new
    ), ${auditEvent({ resource: sql`user_id`, from: sql`begun` })}
    ${notifies ? sql`, ${messagesOf(userJoined(sql`begun`, sql`joined`), sessionCreated(sql`begun`))}` : sql``}
    select ${p.instant('authenticatedAt')} > cutoff_at as is_accepted, session.*${notifies ? sql`, ${notified}` : sql``}
    from caller left join (
      select ${shown}, is_outdated from unended
      union all select ${columnsOf(STORED)}, authenticated_at, false from begun
    ) session on true`;
}
