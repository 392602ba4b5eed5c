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
import type { OriginColumns } from './session-origin.ts';

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

/** The sign-in whose session is looked for. */
export interface SignInColumns {
  readonly userId: SQL;
  readonly method: SQL;
  readonly assurance: SQL;
  readonly authenticatedAt: SQL;
  /** When a session that begins expires. */
  readonly expiresAt: SQL;
  /** What `caller` joins. */
  readonly join: SQL;
}

export const GIVEN_SIGN_IN: SignInColumns = {
  userId: p.uuid('userId'),
  method: p.text('method'),
  assurance: p.integer('assurance'),
  authenticatedAt: p.instant('authenticatedAt'),
  expiresAt: p.instant('expiresAt'),
  join: sql``,
};

/** What a statement has beside the session. */
interface Additions {
  readonly attributesOf: AttributesOf;
  /** The condition that the token is cut off, whatever its user. */
  readonly isCutOff?: SQL;
  /** Whether the profile is that of the user now, and not the one that a live session has kept. */
  readonly hasCurrentProfile?: boolean;
  readonly signIn?: SignInColumns;
  /** CTEs that come first, each before a comma. */
  readonly first?: SQL;
  /** A CTE with the `user_id` of the change for the audit log, if that is not the session that begins. */
  readonly audited?: SQL;
  readonly condition?: SQL;
  /** Further columns of `caller`, each after a comma. */
  readonly ofCaller?: SQL;
  /** Further CTEs, each after a comma. They may use `caller`: the user, with the latest cut-off. */
  readonly ctes?: SQL;
  /** Further columns, each after a comma. */
  readonly columns?: SQL;
}

/**
 * A live session is only read. Otherwise the row of the application and user is inserted or overwritten. Of concurrent
 * exchanges the first wins: under its row lock the others find a session that is not over, and begin none. With `notifies`
 * of `yes`, webhooks get the messages about a session that begins. With `unless asked`, none begins where a webhook
 * subscribes to them: their CTE costs time even if it inserts nothing. CTEs have only the columns that are read: Postgres
 * describes each of them in every execution, for each reader anew.
 */
export function findOrBegin(
  { address, userAgent, browser, onBehalfBy, join }: OriginColumns,
  notifies: 'yes' | 'no' | 'unless asked',
  additions: Additions,
): SQL {
  const { attributesOf, isCutOff, signIn = GIVEN_SIGN_IN, first = sql``, audited = sql`begun` } = additions;
  const { condition = sql``, ofCaller = sql``, ctes = sql``, columns = sql``, hasCurrentProfile = false } = additions;
  const cutoffAt = isCutOff
    ? sql`case when ${isCutOff} then 'infinity' else ${latestCutoffOfAllowed(sql`id`)} end`
    : latestCutoffOfAllowed(sql`id`);
  const stored = columnsOf(hasCurrentProfile ? WITHOUT_PROFILE : { ...PROFILE, ...WITHOUT_PROFILE });
  const attributesOfCaller = attributesOf(sql`caller.attributes`);
  const shown = hasCurrentProfile
    ? sql`${columnsOf({ ...WITHOUT_PROFILE, authTime: t.instant }, 's')}, caller.email, caller.name, caller.profile_image,
      caller.wallet_address, ${attributesOfCaller} as attributes`
    : columnsOf(SHOWN, 's');
  return sql`
    with ${first} live as (
      -- Read before the cut-offs: where tables are distributed, each part sees what was committed before it. A
      -- revocation in between would else remove the session, and another begin that the revocation has ended.
      select ${stored}, authenticated_at, ${lastSignIn('s')} as auth_time from sessions s
      where application_id = ${p.uuid('applicationId')} and user_id = ${signIn.userId}
        and expires_at > ${p.instant('now')}
    ), caller as (
      select id, email, name, profile_image, wallet_address, attributes, ${cutoffAt} as cutoff_at${ofCaller}
      from users ${signIn.join}
      where id = ${signIn.userId} and deleted_at is null and deactivated_at is null ${condition}
    ), kept as (
      select live.*, auth_time < ${signIn.authenticatedAt} as is_outdated
      from live join caller on live.authenticated_at > caller.cutoff_at
    ), begun as (
      insert into sessions as s (application_id, user_id, ${replaced})
      select ${p.uuid('applicationId')}, caller.id, email, name, profile_image, wallet_address,
        ${attributesOfCaller}, cutoff_at,
        coalesce(${address}, ${p.text('ipAddress')}), coalesce(${userAgent}, ${p.text('userAgent')}), ${browser}, ${onBehalfBy},
        ${p.uuid('id')}, ${signIn.method}, ${signIn.assurance}, ${signIn.authenticatedAt}, null, ${p.instant('now')}, ${p.instant('now')},
        ${signIn.expiresAt}
      from caller ${join}
      where ${signIn.authenticatedAt} > cutoff_at and not exists (select 1 from kept)
        ${notifies === 'unless asked' ? sql`and not ${hasSubscriberToAny(NOTIFIED, p.uuid('applicationId'))}` : sql``}
      on conflict (application_id, user_id) do update set (${replaced}) = row(${excluded})
      where s.expires_at <= ${p.instant('now')} or s.authenticated_at <= excluded.cutoff_at
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
      returning u.user_id ${notifies === 'yes' ? sql`, u.first_signed_in_at = u.last_signed_in_at as is_new` : sql``}
    ), ${auditEvent({ resource: sql`user_id`, from: audited })}
    ${notifies === 'yes' ? sql`, ${messagesOf(userJoined(sql`begun`, sql`joined`), sessionCreated(sql`begun`))}` : sql``}${ctes}
    select ${signIn.authenticatedAt} > caller.cutoff_at as is_accepted, is_outdated, ${shown}${
      notifies === 'yes' ? sql`, ${notified}` : sql``
    }${columns}
    from caller left join (
      select ${stored}, auth_time, is_outdated from kept
      union all select ${stored}, authenticated_at, false from begun
    ) s on true`;
}
