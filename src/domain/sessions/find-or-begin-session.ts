/** The session of a user in an application, found or begun by one statement. */
import { type SQL, sql } from 'drizzle-orm';
import { sessions } from '../../database/schema/session-schema.ts';
import { columnsOf, nullable, p, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import { hasSubscriberToAny, messagesOf, notified } from '../outbox/insert-message.ts';
import { sessionCreated, userJoined } from '../outbox/user-messages.ts';
import type { SignInMethod } from '../tokens/verify-token.ts';
import { latestCutoffOfAllowed } from './cutoffs.ts';
import type { AttributesOf } from './forms.ts';
import { lastSignIn } from './session.ts';
import { GIVEN_ORIGIN, type OriginColumns } from './session-origin.ts';

/** The types of the messages about a new session. */
const NOTIFIED = ['session.created', 'user.created'] as const;

/** The columns of a session that begins, in place of what the last one had. */
const REPLACED = [
  ...[
    'email',
    'name',
    'profile_image',
    'wallet_address',
    'attributes',
    'cutoff_at',
    'ip_address',
    'user_agent',
    'browser_digest',
    'on_behalf_by',
  ],
  ...['id', 'method', 'assurance', 'authenticated_at', 'last_authenticated_at', 'began_at', 'created_at', 'expires_at'],
];
const replaced = sql.raw(REPLACED.join(', '));
const excluded = sql.raw(REPLACED.map((name) => `excluded.${name}`).join(', '));

const { id, userId, email, name, profileImage, walletAddress, attributes, createdAt, expiresAt, assurance } = sessions;

const PROFILE = { email, name, profileImage, walletAddress, attributes };
const WITHOUT_PROFILE = { id, userId, createdAt, expiresAt, method: t.textOf<SignInMethod>(), assurance };

/** What an application learns of a session. */
const SHOWN = { ...PROFILE, ...WITHOUT_PROFILE, authTime: t.instant };

export const FOUND_SESSION = {
  /** Whether the token is from after the cut-offs of the user's sessions. */
  isAccepted: t.boolean,
  /** Null if there is no session. */
  isOutdated: nullable(t.boolean),
  session: SHOWN,
};

/** The sign-in whose session is looked for. Its origin is known to `begun` only, all else to `caller`, too. */
export interface SignInColumns extends OriginColumns {
  readonly userId: SQL;
  readonly method: SQL;
  readonly assurance: SQL;
  readonly authenticatedAt: SQL;
  /** When a session that begins expires. */
  readonly expiresAt: SQL;
  /** The CTE `redeemed`, with the code of which the statement is. Its columns are those of `caller`, too. */
  readonly redeemed?: SQL;
  /** Joins what has the origin. */
  readonly join?: SQL;
}

export const GIVEN_SIGN_IN: SignInColumns = {
  ...GIVEN_ORIGIN,
  userId: p.uuid('userId'),
  method: p.text('method'),
  assurance: p.integer('assurance'),
  authenticatedAt: p.instant('authenticatedAt'),
  expiresAt: p.instant('expiresAt'),
};

/** The grant of which a session is. Applications learn with it the profile of the user now, not that of the session. */
export interface GrantParts {
  /** Without it, there is no session either. */
  readonly condition: SQL;
  /** A CTE that inserts the grant, after a comma. It may use `caller`: the user, with the latest cut-off. */
  readonly inserted?: SQL;
  /** Further columns, each after a comma. */
  readonly columns: SQL;
}

interface SessionParts {
  readonly signIn: SignInColumns;
  readonly notifies: 'yes' | 'no' | 'unless asked';
  readonly attributesOf: AttributesOf;
}

/** Finds or begins the session of an auth token. @param isCutOff the condition that the token is, whatever its user */
export function findOrBegin(parts: SessionParts, isCutOff: SQL): SQL {
  const cutoffAt = sql`case when ${isCutOff} then 'infinity' else ${latestCutoffOfAllowed(sql`id`)} end`;
  return findOrBeginBy(parts, cutoffAt, columnsOf({ ...PROFILE, ...WITHOUT_PROFILE }), columnsOf(SHOWN, 's'));
}

/** Finds or begins the session of a grant. */
export function findOrBeginOfGrant(parts: SessionParts, grant: GrantParts): SQL {
  const shown = sql`${columnsOf({ ...WITHOUT_PROFILE, authTime: t.instant }, 's')}, caller.email, caller.name, caller.profile_image,
      caller.wallet_address, ${parts.attributesOf(sql`caller.attributes`)} as attributes`;
  return findOrBeginBy(parts, latestCutoffOfAllowed(sql`id`), columnsOf(WITHOUT_PROFILE), shown, grant);
}

/**
 * A live session is only read. Otherwise the row of the application and user is inserted or overwritten. Of concurrent
 * exchanges the first wins: under its row lock the others find a session that is not over, and begin none. With `notifies`
 * of `yes`, webhooks get the messages about a session that begins. With `unless asked`, none begins where a webhook
 * subscribes to them: their CTE costs time even if it inserts nothing. CTEs have only the columns that are read: Postgres
 * describes each of them in every execution, for each reader anew.
 *
 * @param stored the columns of a session that are read
 * @param shown what the application learns of it
 */
function findOrBeginBy(
  { signIn, notifies, attributesOf }: SessionParts,
  cutoffAt: SQL,
  stored: SQL,
  shown: SQL,
  grant?: GrantParts,
): SQL {
  const { redeemed, join = sql`` } = signIn;
  const ifNotifies = (part: SQL) => (notifies === 'yes' ? part : sql``);
  return sql`
    with ${redeemed ? sql`${redeemed},` : sql``} live as (
      -- Read before the cut-offs: where tables are distributed, each part sees what was committed before it. A
      -- revocation in between would else remove the session, and another begin that the revocation has ended.
      select ${stored}, authenticated_at, ${lastSignIn('s')} as auth_time from sessions s
      where application_id = ${p.uuid('applicationId')} and user_id = ${signIn.userId}
        and expires_at > ${p.instant('now')}
    ), caller as (
      select id, email, name, profile_image, wallet_address, attributes, ${cutoffAt} as cutoff_at${redeemed ? sql`, redeemed.*` : sql``}
        -- Equivalent: choice: nobody reads it without a grant
        ${grant ? sql`, email_verified_at` : sql``}
      from users ${redeemed ? sql`join redeemed on true` : sql``}
      where id = ${signIn.userId} and deleted_at is null and deactivated_at is null ${grant ? sql`and ${grant.condition}` : sql``}
    ), kept as (
      select live.*, auth_time < ${signIn.authenticatedAt} as is_outdated
      from live join caller on live.authenticated_at > caller.cutoff_at
    ), begun as (
      insert into sessions as s (application_id, user_id, ${replaced})
      select ${p.uuid('applicationId')}, caller.id, email, name, profile_image, wallet_address,
        ${attributesOf(sql`caller.attributes`)}, cutoff_at,
        coalesce(${signIn.originAddress}, ${p.text('ipAddress')}), coalesce(${signIn.originUserAgent}, ${p.text('userAgent')}),
        ${signIn.originBrowser}, ${signIn.onBehalfBy},
        ${p.uuid('id')}, ${signIn.method}, ${signIn.assurance}, ${signIn.authenticatedAt}, null, ${p.instant('now')}, ${p.instant('now')},
        ${signIn.expiresAt}
      from caller ${join}
      where ${signIn.authenticatedAt} > cutoff_at and not exists (select 1 from kept)
        ${notifies === 'unless asked' ? sql`and not ${hasSubscriberToAny(NOTIFIED, p.uuid('applicationId'))}` : sql``}
      on conflict (application_id, user_id) do update set (${replaced}) = row(${excluded})
      where s.expires_at <= ${p.instant('now')} or s.authenticated_at <= excluded.cutoff_at
      -- Equivalent: choice: without messages, it only returns fewer columns
      returning ${notifies === 'yes' ? sql`*` : sql`${stored}, authenticated_at`}
    ), recorded as (
      insert into session_ids (application_id, id, user_id, authenticated_at, created_at, expires_at, kept_until)
      select ${p.uuid('applicationId')}, id, user_id, authenticated_at, created_at, expires_at,
        expires_at + ${p.integer('graceSeconds')} * interval '1 second'
      from begun
    ), joined as (
      insert into application_users as u (application_id, user_id, first_signed_in_at, last_signed_in_at)
      select ${p.uuid('applicationId')}, user_id, ${p.instant('now')}, ${p.instant('now')} from begun
      -- Looked up first: a conflict would lock the row, which is a write.
      where not exists (
        select 1 from application_users
        where application_id = ${p.uuid('applicationId')} and user_id = ${signIn.userId}
          and last_signed_in_at > ${p.instant('now')} - interval '1 day'
      )
      on conflict (application_id, user_id) do update set last_signed_in_at = excluded.last_signed_in_at
      returning u.user_id ${ifNotifies(sql`, u.first_signed_in_at = u.last_signed_in_at as is_new`)}
    ), ${auditEvent({ resource: sql`user_id`, from: redeemed ? sql`redeemed` : sql`begun` })}
    ${ifNotifies(sql`, ${messagesOf(userJoined(sql`begun`, sql`joined`), sessionCreated(sql`begun`))}`)}${grant?.inserted}
    select ${signIn.authenticatedAt} > caller.cutoff_at as is_accepted, is_outdated, ${shown}${ifNotifies(sql`, ${notified}`)}${grant?.columns}
    from caller left join (
      select ${stored}, auth_time, is_outdated from kept
      union all select ${stored}, authenticated_at, false from begun
    ) s on true`;
}
