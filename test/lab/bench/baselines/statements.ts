/**
 * The statements of all baselines as SQL by hand. They do the same work as Usher's: changes are in the audit log and, if
 * a webhook subscribes, in a message to it.
 */
import type { Application } from '../../../../src/domain/core/call.ts';

/** Runs a statement, which is prepared once per connection, and returns its rows. */
export type Query = <Row extends object>(
  statement: SqlStatement,
  values: readonly (string | number | Date | Buffer | null)[],
) => Promise<readonly Row[]>;

interface SqlStatement {
  readonly name: string;
  readonly text: string;
}

export interface Owner extends Application {
  readonly apiKeyId: string;
}

export interface WebhookRow {
  /** Encrypted. */
  readonly signingKey: Buffer;
  readonly url: string;
  readonly isActive: boolean;
  readonly ownerId: string;
  readonly ownerName: string | null;
  readonly ownerEmail: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface SessionRow {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly profileImage: string | null;
  readonly walletAddress: string;
  readonly createdAt: Date;
}

export interface CheckInRow {
  readonly checkedInAt: Date;
  readonly alreadyCheckedIn: boolean;
}

/** It reads the URIs as JSON, because postgres.js and pg parse arrays only after a query for the types. */
export const SELECT_OWNER: SqlStatement = {
  name: 'select_owner',
  text: `
    select k.id as "apiKeyId", a.id, a.name, a.client_id as "clientId", to_json(a.redirect_uris) as "redirectUris"
    from api_keys k join applications a on a.id = k.application_id
    where k.digest = $1 and k.revoked_at is null and a.deleted_at is null`,
};

export const SELECT_WEBHOOK: SqlStatement = {
  name: 'select_webhook',
  text: `
    select w.signing_key as "signingKey", w.url, w.is_active as "isActive",
      u.id as "ownerId", u.name as "ownerName", u.email as "ownerEmail",
      w.created_at as "createdAt", w.updated_at as "updatedAt"
    from webhooks w join users u on u.id = w.owner_id
    where w.application_id = $1 and w.id = $2`,
};

/** Inserts into the audit log for each row. The values from `first` on: its ID, API key, action, address, request ID. */
function insertAudit(resource: string, from: string, { now, first }: { now: number; first: number }): string {
  const [id, apiKeyId, action, ipAddress, requestId] = [0, 1, 2, 3, 4].map((index) => `$${first + index}`);
  return `audit as (
    insert into audit_events
      (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    select $1::uuid, $${now}::timestamptz, ${id}::uuid, 'api_key', ${apiKeyId}::text, ${action}::text, ${resource},
      ${ipAddress}::text, ${requestId}::text
    from ${from})`;
}

function hasSubscriber(type: string): string {
  return `exists (
    select 1 from webhooks
    where application_id = $1 and is_active and event_types <> '{}' and event_types && array['${type}', '*'])`;
}

function insertMessage(type: string, data: string, from: string, now: number): string {
  return `message as (
    insert into webhook_messages (application_id, type, payload, created_at)
    select $1::uuid, '${type}', json_build_object('type', '${type}', 'timestamp', ${isoText(`$${now}::timestamptz`)},
      'data', json_strip_nulls(${data}))::text, $${now}::timestamptz
    from ${from} where ${hasSubscriber(type)}
    returning application_id)`;
}

function isoText(instant: string): string {
  return `to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

const NOTIFIED = 'array_to_json(array(select application_id from message)) as "notifiedIds"';

const SESSION_COLUMNS = [
  ...['id', 'email', 'name', 'profile_image', 'wallet_address', 'ip_address', 'user_agent', 'browser_digest'],
  ...['method', 'authenticated_at', 'began_at', 'cutoff_at', 'created_at', 'expires_at'],
];

/** Returns the live session, or creates one unless a webhook subscribes: nothing does here. */
export const FIND_OR_CREATE_SESSION: SqlStatement = {
  name: 'find_or_create_session',
  text: `
    with caller as (
      select id, email, name, profile_image, wallet_address, greatest(
        (select max(cutoff_at) from session_cutoffs
          where application_id = $1 and user_id in ($2, '00000000-0000-0000-0000-000000000000')),
        (select cutoff_at from user_cutoffs where user_id = $2)) as cutoff_at
      from users where id = $2 and deleted_at is null and deactivated_at is null
    ), live as (
      select s.id, s.email, s.name, s.profile_image, s.wallet_address, s.created_at
      from sessions s join caller on caller.id = s.user_id
      where s.application_id = $1 and s.expires_at > $6
        and s.authenticated_at > coalesce(caller.cutoff_at, '-infinity')
        and $9 > coalesce(caller.cutoff_at, '-infinity')
    ), created as (
      insert into sessions as s (application_id, user_id, ${SESSION_COLUMNS.join(', ')})
      select $1, caller.id, $3::uuid, email, name, profile_image, wallet_address,
        coalesce(i.ip_address, $4), coalesce(i.user_agent, $5), i.browser_digest, $8, $9, $6, cutoff_at, $6, $7
      from caller left join login_intents i on i.application_id = $1 and i.id = $10 and i.user_id = $2
      where $9 > coalesce(cutoff_at, '-infinity') and not exists (select 1 from live)
        and not ${hasSubscriber('session.created')}
      on conflict (application_id, user_id) do update set
        ${SESSION_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}
      where not (s.expires_at > $6 and s.authenticated_at > coalesce(excluded.cutoff_at, '-infinity'))
      returning id, email, name, profile_image, wallet_address, created_at, user_id, expires_at
    ), ${insertAudit('user_id::text', 'created', { now: 6, first: 12 })},
    recorded as (
      insert into session_ids (application_id, id, user_id, authenticated_at, created_at, expires_at, kept_until)
      select $1, id, user_id, $9, created_at, expires_at, $11 from created
    ), joined as (
      insert into application_users (application_id, user_id, first_signed_in_at, last_signed_in_at)
      select $1, user_id, created_at, created_at from created
      where not exists (
        select 1 from application_users k
        where k.application_id = $1 and k.user_id = $2 and k.last_signed_in_at > $6 - interval '1 day'
      )
      on conflict (application_id, user_id) do update set last_signed_in_at = excluded.last_signed_in_at
    )
    select id, email, name, profile_image as "profileImage", wallet_address as "walletAddress",
      created_at as "createdAt"
    from (select * from live
      union all select id, email, name, profile_image, wallet_address, created_at from created) as session`,
};

export const INSERT_INTENT: SqlStatement = {
  name: 'insert_intent',
  text: `
    insert into login_intents (application_id, id, redirect_uri, state, locale, prompt, max_age_seconds, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
};

/** The advisory lock serializes check-ins with a delete of the event. */
const LOCK_KEY = 'hashtextextended(application_id::text || id, 0)';

export const MARK_DELETED: SqlStatement = {
  name: 'mark_deleted',
  text: `
    with locked as (
      select id from events
      where application_id = $1 and id = $2 and deleted_at is null
        and pg_advisory_xact_lock(${LOCK_KEY}) is not null
      for update
    ), deleted as (
      update events set deleted_at = $3
      from locked where application_id = $1 and events.id = locked.id
      returning events.id, events.name, events.created_at, events.deleted_at
    ), ${insertAudit('id', 'deleted', { now: 3, first: 4 })},
    ${insertMessage(
      'event.deleted',
      `json_build_object('eventId', id, 'name', name,
        'createdAt', ${isoText('created_at')}, 'deletedAt', ${isoText('deleted_at')})`,
      'deleted',
      3,
    )}
    select ${NOTIFIED} from deleted`,
};

export const INSERT_CHECK_IN: SqlStatement = {
  name: 'insert_check_in',
  text: `
    with open_event as (
      select application_id, id from events
      where application_id = $1 and id = $2 and deleted_at is null
        and pg_advisory_xact_lock_shared(${LOCK_KEY}) is not null
      for share
    ), checked_in as (
      insert into check_ins (application_id, event_id, attendee_id, checked_in_at, is_repeated)
      select application_id, id, $3::text, $4::timestamptz, false from open_event
      on conflict (application_id, event_id, attendee_id) do update set is_repeated = true
      returning checked_in_at, is_repeated
    ), ${insertAudit(`concat_ws('/', $2::text, $3::text)`, 'checked_in where not is_repeated', { now: 4, first: 5 })},
    ${insertMessage(
      'check_in.created',
      `json_build_object('eventId', $2::text, 'attendeeId', $3::text, 'checkedInAt', ${isoText('checked_in_at')})`,
      '(select checked_in_at from checked_in where not is_repeated) as created',
      4,
    )}
    select checked_in_at as "checkedInAt", is_repeated as "alreadyCheckedIn", ${NOTIFIED} from checked_in`,
};
