/** Inserts users, and what belongs to them, with one statement. */
import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import type { RowCipher } from '../crypto/aes-gcm.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { userAdded } from '../outbox/user-messages.ts';
import { youngUntil } from '../users/counts-from.ts';
import type { Issuers, Known } from './known.ts';
import type { UserLine } from './user-line.ts';

export interface InsertOptions {
  /** Encrypts the secrets of authenticator apps. */
  readonly cipher: RowCipher;
  readonly issuers: Issuers;
  readonly notifies: boolean;
}

/** A line with the user that it is about. `isNew` if there is no such user yet. */
export interface PlacedLine {
  readonly line: UserLine;
  readonly userId: string;
  readonly isNew: boolean;
}

/** Inserts the new users of the lines, and what the lines add to users. What is there already stays. */
export async function insertUsers(
  { run, now, onMessage }: Call,
  placed: readonly PlacedLine[],
  known: Known,
  { cipher, issuers, notifies }: InsertOptions,
): Promise<void> {
  const parameters = {
    now,
    youngUntil: youngUntil(now),
    users: placed.filter(({ isNew }) => isNew).map((each) => toUser(each, now)),
    memberships: placed.flatMap(({ userId: user_id, line }) =>
      [...new Set(line.applications)].map((application_id) => ({ application_id, user_id })),
    ),
    members: placed.flatMap(({ userId: user_id, line }) =>
      [...new Set(line.groups)].map((name) => ({ group_id: known.get(`group ${name}`), user_id })),
    ),
    identities: placed.flatMap(({ userId: user_id, line }) =>
      line.identities.map(({ provider, subject }) => ({ issuer: issuers.get(provider), subject, provider, user_id })),
    ),
    passkeys: placed.flatMap(({ userId: user_id, line }) =>
      line.passkeys.map(({ credentialId, publicKey, ...passkey }) => ({
        ...passkey,
        user_id,
        id: randomUUID(),
        credential_id: credentialId.toString('hex'),
        public_key: publicKey.toString('hex'),
      })),
    ),
    secrets: placed.flatMap(({ userId, line: { totpSecret } }) => {
      const id = randomUUID();
      const sealed = totpSecret !== null && cipher.encrypt(totpSecret, { applicationId: userId, id });
      return sealed ? [{ user_id: userId, id, sealed: sealed.toString('hex') }] : [];
    }),
  };
  if (!notifies) return void (await run(insert, parameters));
  const [inserted] = await run(insertAndNotify, parameters);
  if (inserted) announce(onMessage, inserted);
}

function toUser({ line, userId }: PlacedLine, now: Date) {
  const createdAt = line.createdAt ?? now;
  return {
    id: userId,
    email: line.email,
    name: line.name,
    profile_image: line.profileImage,
    wallet_address: line.walletAddress,
    external_id: line.externalId,
    attributes: line.attributes,
    created_at: createdAt,
    email_verified_at: line.emailVerified ? createdAt : null,
    deactivated_at: line.isActive ? null : now,
    has_second_factor: line.totpSecret !== null,
    audit_id: randomUUID(),
  };
}

const inserts = sql`
  given as (
    select * from jsonb_to_recordset(${p.jsonb('users')}) as u (id uuid, email text, name text, profile_image text,
      wallet_address text, external_id text, attributes jsonb, created_at timestamptz, email_verified_at timestamptz,
      deactivated_at timestamptz, has_second_factor boolean, audit_id uuid)
  ), created as (
    insert into users (id, email, name, profile_image, wallet_address, external_id, attributes, created_at,
      email_verified_at, deactivated_at, has_second_factor)
    select id, email, name, profile_image, wallet_address, external_id, nullif(attributes, 'null'), created_at,
      email_verified_at, deactivated_at, has_second_factor
    from given returning *
  ), added as (
    insert into added_users (application_id, user_id, added_at)
    select application_id, user_id, ${p.instant('now')}
    from jsonb_to_recordset(${p.jsonb('memberships')}) as m (application_id uuid, user_id uuid)
    on conflict do nothing returning application_id, user_id
  ), joined as (
    insert into group_members (group_id, user_id, added_at)
    select group_id, user_id, ${p.instant('now')}
    from jsonb_to_recordset(${p.jsonb('members')}) as m (group_id uuid, user_id uuid)
    on conflict do nothing
  ), linked as (
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    select issuer, subject, user_id, provider, ${p.instant('now')}
    from jsonb_to_recordset(${p.jsonb('identities')})
      as d (issuer text, subject text, user_id uuid, provider text)
    on conflict do nothing
  ), keyed as (
    -- For operators, a passkey that is new to Usher is young.
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
      is_backup_eligible, is_backed_up, is_user_verified, name, created_at, counts_for_operators_from)
    select user_id, id, decode(credential_id, 'hex'), "rpId", decode(public_key, 'hex'), "signCount", transports,
      aaguid, "backupEligible", "backedUp", "userVerified", name, ${p.instant('now')},
      ${p.instant('youngUntil')}
    from jsonb_to_recordset(${p.jsonb('passkeys')}) as k (user_id uuid, id uuid, credential_id text, public_key text,
      "rpId" text, "signCount" bigint, transports text[], aaguid uuid, "backupEligible" boolean, "backedUp" boolean,
      "userVerified" boolean, name text)
    on conflict do nothing
  ), secured as (
    insert into totp_secrets (user_id, id, sealed, last_step, created_at)
    select user_id, id, decode(sealed, 'hex'), 0, ${p.instant('now')}
    from jsonb_to_recordset(${p.jsonb('secrets')}) as s (user_id uuid, id uuid, sealed text)
    on conflict do nothing
    returning user_id
  ), marked as (
    -- Users who were there: a new one is not seen here.
    update users u set has_second_factor = true from secured where u.id = secured.user_id
  ), ${auditEvent({ resource: sql`id`, from: sql`given`, applicationId: noApplication, id: sql`audit_id` })}`;

// Equivalent: limit: nobody reads it
const insert = statement('insert_lines')`with ${inserts} select from created limit 1`;

const insertAndNotify = statement('insert_lines_and_notify', HAS_MESSAGES)`
  with ${inserts}, ${messagesOf({ ...userAdded(sql`added`, sql`created`), part: sql`created.id` })}
  select ${notified}`;
