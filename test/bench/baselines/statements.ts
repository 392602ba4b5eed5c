/** The statements of all baselines as SQL by hand. They do the same work as Usher's. */

/** Runs a statement, which is prepared once per connection, and returns its rows. */
export type Query = <Row extends object>(
  statement: SqlStatement,
  values: readonly (string | Date | Buffer)[],
) => Promise<readonly Row[]>;

interface SqlStatement {
  readonly name: string;
  readonly text: string;
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
    select a.id, a.name, a.client_id as "clientId", to_json(a.redirect_uris) as "redirectUris"
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

const SESSION_COLUMNS = [
  ...['id', 'email', 'name', 'profile_image', 'wallet_address'],
  ...['ip_address', 'user_agent', 'created_at', 'expires_at'],
];

/** Returns the live session, or creates one. Of concurrent statements the first creates it. */
export const FIND_OR_CREATE_SESSION: SqlStatement = {
  name: 'find_or_create_session',
  text: `
    with live as (
      select s.id, s.email, s.name, s.profile_image, s.wallet_address, s.created_at
      from sessions s join users u on u.id = s.user_id and u.deleted_at is null
      where s.application_id = $1 and s.user_id = $2 and s.expires_at > $6
    ), created as (
      insert into sessions as s (application_id, user_id, id, email, name, profile_image, wallet_address,
        ip_address, user_agent, created_at, expires_at)
      select $1, u.id, $3, u.email, u.name, u.profile_image, u.wallet_address, $4, $5, $6, $7
      from users u
      where u.id = $2 and u.deleted_at is null and not exists (select 1 from live)
      on conflict (application_id, user_id) do update set
        ${SESSION_COLUMNS.map(
          (column) => `${column} = case when s.expires_at <= $6 then excluded.${column} else s.${column} end`,
        ).join(', ')}
      returning id, email, name, profile_image, wallet_address, created_at
    )
    select id, email, name, profile_image as "profileImage", wallet_address as "walletAddress",
      created_at as "createdAt"
    from (select * from live union all select * from created) as session`,
};

export const INSERT_INTENT: SqlStatement = {
  name: 'insert_intent',
  text: `
    insert into login_intents (application_id, id, redirect_uri, state, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6)`,
};

export const MARK_DELETED: SqlStatement = {
  name: 'mark_deleted',
  text: `
    update events set deleted_at = $3
    where application_id = $1 and id = $2 and deleted_at is null
    returning id`,
};

/** The lock serializes check-ins with a delete of the event. */
export const INSERT_CHECK_IN: SqlStatement = {
  name: 'insert_check_in',
  text: `
    with open_event as (
      select application_id, id from events
      where application_id = $1 and id = $2 and deleted_at is null
      for share
    )
    insert into check_ins as c (application_id, event_id, attendee_id, checked_in_at)
    select application_id, id, $3, $4 from open_event
    on conflict (application_id, event_id, attendee_id) do update set attendee_id = c.attendee_id
    returning checked_in_at as "checkedInAt", xmax <> 0 as "alreadyCheckedIn"`,
};
