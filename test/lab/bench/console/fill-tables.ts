/** Rows of a site with many users, inserted by Postgres itself: everything about a row follows from its number. */
import type postgres from 'postgres';
import { onServer } from '../../../../src/testing/on-server.ts';
import { type Fixtures, userAt, webhookAt } from '../fixtures.ts';
import { withTables } from '../growth/seed-bulk.ts';
import { seedDatabase } from '../seed-database.ts';

/** Rows of tables that grow with the applications and not with the users. */
const SMALL = 200;
/** One event of an operator in so many is of the rare action, and of the rare operator. */
const RARE = 1_009;
/** Acts on the busy resource and on the quiet one, and applications of the busy user. */
const BUSY = 2_000;
const QUIET = 20;
const APPLICATIONS_OF_USER = 40;
/** Of an application, as many as there can be, and of the busy user. */
const GROUPS = 100;
const GROUPS_OF_USER = 10;
const MINUTE = "interval '1 minute'";

export interface Counts {
  readonly users: number;
  readonly auditEvents: number;
}

/** Filters of the audit log, each with a value of many events and one of few. */
export const FILTER_VALUES = {
  actor: ['deploy', 'night-shift'],
  action: ['AdminService/UpdateUser', 'AdminService/SetApplicationLogo'],
  resource: ['busy-resource', 'quiet-resource'],
} as const;

/** The group in which every tenth user is. */
const GROUP = '00000000-0000-4000-8000-000000000003';

/** The first passkey of the busy user, and the provider of an account. */
const PASSKEY = '00000000-0000-4000-8000-000000000101';
const ISSUER = 'https://acme.test';

/** What the pages show: the user has signed in to every application, and the webhook and the event have most rows. */
export function samplesOf({ application }: Fixtures) {
  const { id } = userAt(1);
  const way = { p: PASSKEY, i: ISSUER, s: 'ada' };
  return {
    a: application.id,
    k: application.id,
    u: id,
    ...way,
    g: GROUP,
    w: webhookAt(0).id,
    m: 'msg_1',
    e: 'open-event-0',
  };
}

/** Fills an empty database of the current schema. */
export async function fillTables(url: string, fixtures: Fixtures, { users, auditEvents }: Counts): Promise<void> {
  await seedDatabase(url, fixtures, 0);
  await onServer(url, (sql) => fillSmall(sql, fixtures));
  const tables = [
    'users',
    'application_users',
    'sessions',
    'session_cutoffs',
    'user_cutoffs',
    'check_ins',
    'attendees',
    'scans',
    'events',
    'group_members',
  ];
  const logs = ['audit_events', 'webhook_deliveries', 'webhook_messages', 'webhook_attempts', 'webhook_queues'];
  await withTables(url, [...tables, ...logs], async (sql) => {
    // In the place of those of other benchmarks.
    await sql`truncate sessions`;
    await fillUsers(sql, fixtures, users);
    await fillGroups(sql, fixtures, users);
    await fillEvents(sql, fixtures, users);
    await fillDeliveries(sql, fixtures, Math.ceil(users / 10));
    await fillAuditLog(sql, fixtures, auditEvents);
  });
}

/** Applications, keys, counts and passkeys. */
async function fillSmall(sql: postgres.Sql, { application: { id } }: Fixtures): Promise<void> {
  await sql.unsafe(`
    insert into applications (id, name, client_id, redirect_uris, created_at)
    select md5('application' || n)::uuid, 'Application ' || n, 'client_' || md5(n::text), '{https://app.example}', now() - n * ${MINUTE}
    from generate_series(1, ${SMALL}) n`);
  await sql.unsafe(`
    insert into api_keys (application_id, id, digest, created_at, name)
    select '${id}', md5('key' || n)::uuid, sha256(n::text::bytea), now() + n * ${MINUTE}, 'key ' || n from generate_series(1, ${SMALL}) n`);
  await sql.unsafe(`
    insert into hourly_counts (name, hour, count)
    select name, date_trunc('hour', now()) - n * interval '1 hour', n
    from generate_series(0, 90 * 24) n, unnest('{sign_ins,sign_ups,wrong_codes,refused_sign_ins,emails,webhook_attempts,failed_webhook_attempts}'::text[]) name`);
  await sql.unsafe(`
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid, is_backup_eligible,
      is_backed_up, is_user_verified, name, created_at)
    select '${userAt(1).id}', ('${PASSKEY.slice(0, -3)}' || 100 + n)::uuid, sha256(n::text::bytea), 'example.com', '', 0, '{}', md5('')::uuid,
      true, true, true, 'Passkey ' || n, now() from generate_series(1, 20) n`);
  await sql.unsafe(`
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    values ('${ISSUER}', 'ada', '${userAt(1).id}', 'acme', now())`);
}

/** Most users have signed in to one application, every tenth has a session there. IDs are random, as those of Usher. */
async function fillUsers(sql: postgres.Sql, { application: { id } }: Fixtures, users: number): Promise<void> {
  const busy = userAt(1).id;
  await sql.unsafe(`
    insert into users (id, email, name, wallet_address, created_at, deactivated_at, deleted_at)
    select md5('user' || n)::uuid, (array['ada', 'grace', 'linus', 'margaret'])[1 + n % 4] || n || '@mail.example',
      'User ' || n, '0x' || md5(n::text) || lpad(to_hex(n), 8, '0'), now() - n * ${MINUTE},
      case when n % 50 = 0 then now() end, case when n % 100 = 1 then now() end
    from generate_series(1, ${users}) n`);
  await sql.unsafe(`
    insert into application_users (application_id, user_id, first_signed_in_at, last_signed_in_at)
    select '${id}'::uuid, md5('user' || n)::uuid, now() - n * ${MINUTE}, now() from generate_series(1, ${users}) n where n % 5 > 0
    union all select id, '${busy}'::uuid, created_at, now() from (select * from applications limit ${APPLICATIONS_OF_USER}) few`);
  const profile = "'203.0.113.7', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'email'";
  const times = "now(), now(), now(), now() + interval '1 day'";
  await sql.unsafe(`
    insert into sessions (application_id, user_id, id, email, name, wallet_address, ip_address, user_agent, method,
      began_at, authenticated_at, created_at, expires_at)
    select '${id}'::uuid, md5('user' || n)::uuid, gen_random_uuid(), n || '@mail.example', 'User ' || n, '', ${profile}, ${times}
    -- Spread over the table: who signs in has signed up at any time.
    from (select (n::bigint * 7368787) % ${users} + 1 as n from generate_series(1, ${Math.ceil(users / 10)}) n) spread
    union all select id, '${busy}'::uuid, gen_random_uuid(), '${userAt(1).email}', 'User 1', '', ${profile}, ${times} from (select * from applications limit ${APPLICATIONS_OF_USER}) few`);
  await sql.unsafe(`
    insert into session_cutoffs (application_id, user_id, cutoff_at, expires_at)
    select '${id}'::uuid, md5('user' || n)::uuid, now() - interval '1 day', now() + interval '1 year' from generate_series(1, ${users}, 10) n`);
  await sql.unsafe(`
    insert into user_cutoffs (user_id, cutoff_at, expires_at)
    select md5('user' || n)::uuid, now() - interval '1 day', now() + interval '1 year' from generate_series(1, ${users}, 20) n`);
}

async function fillGroups(sql: postgres.Sql, { application: { id } }: Fixtures, users: number): Promise<void> {
  await sql.unsafe(`
    insert into groups (id, name, display_name, created_at)
    select case n when 1 then '${GROUP}' else md5('group' || n)::uuid end, 'group-' || n, 'Group ' || n, now() - n * ${MINUTE}
    from generate_series(1, ${10 * GROUPS}) n`);
  await sql.unsafe(`
    insert into group_members (group_id, user_id, added_at)
    select '${GROUP}'::uuid, md5('user' || n)::uuid, now() - n * ${MINUTE} from generate_series(1, ${users}, 10) n
    union all select id, '${userAt(1).id}'::uuid, created_at from (select * from groups limit ${GROUPS_OF_USER}) few`);
  await sql.unsafe(`
    insert into application_groups (application_id, group_id, allows_access, in_claim)
    select '${id}'::uuid, id, true, true from groups limit ${GROUPS}`);
}

async function fillEvents(sql: postgres.Sql, fixtures: Fixtures, users: number): Promise<void> {
  const { a, e } = samplesOf(fixtures);
  await sql.unsafe(`
    insert into events (application_id, id, name, created_at, deleted_at)
    select '${a}'::uuid, 'bulk-' || n, 'Event ' || n, now() + n * ${MINUTE}, case when n % 3 = 0 then now() end
    from generate_series(1, ${Math.ceil(users / 100)}) n`);
  await sql.unsafe(`
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
    select '${a}'::uuid, '${e}', md5(n::text), now() - n * ${MINUTE} from generate_series(1, ${Math.ceil(users / 10)}) n`);
  await sql.unsafe(`
    insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
    select '${a}'::uuid, '${e}', md5(n::text), 'Ada ' || n, n % 10 = 0, n, now() from generate_series(1, ${Math.ceil(users / 10)}) n`);
  await sql.unsafe(`
    insert into scans (application_id, event_id, scan_id, attendee_id, outcome, reason, received_at)
    select '${a}'::uuid, '${e}', md5(n::text)::uuid, md5(n::text), 'REFUSED', 'ATTENDEE_BLOCKED', now() - n * ${MINUTE}
    from generate_series(1, ${Math.ceil(users / 10)}) n`);
}

/** One webhook has nearly all deliveries: few failed, and a backlog. Others have one that is due. */
async function fillDeliveries(sql: postgres.Sql, fixtures: Fixtures, count: number): Promise<void> {
  const { a, w } = samplesOf(fixtures);
  await sql.unsafe(`
    insert into webhook_messages (application_id, id, type, payload, created_at, fanned_out_to) overriding system value
    select '${a}'::uuid, n, 'user.updated', '{"type":"user.updated"}', now() - n * interval '1 second', null from generate_series(1, ${count}) n`);
  await sql.unsafe(`
    insert into webhook_deliveries (application_id, webhook_id, message_id, status, due_at, attempt_count, created_at)
    select '${a}'::uuid, '${w}', n, status, case when status = 'pending' then now() end, 1, now() - n * interval '1 second'
    from (select n, case when n % 10 = 0 then 'pending' when n % 97 = 0 then 'failed' else 'succeeded' end as status
      from generate_series(1, ${count}) n) numbers
    union all select '${a}', id, 1, 'pending', now(), 1, now() from webhooks where id <> '${w}'`);
  await sql.unsafe(`
    insert into webhook_queues (application_id, webhook_id, next_at, failed_batches)
    select '${a}'::uuid, id, now(), case when id > '${webhookAt(125).id}' then 1 else 0 end from webhooks`);
  await sql.unsafe(`
    insert into webhook_attempts (application_id, webhook_id, message_id, attempted_at, duration_ms, status_code, response_body)
    select '${a}'::uuid, '${w}', 1, now(), 12, 500, repeat('x', 4096) from generate_series(1, 100)`);
}

/** Four of five events sign people in. Of the rest, one operator has most, and one resource has many. */
async function fillAuditLog(sql: postgres.Sql, fixtures: Fixtures, count: number): Promise<void> {
  const { a, u } = samplesOf(fixtures);
  const { actor, action, resource } = FILTER_VALUES;
  const other = '00000000-0000-0000-0000-000000000000';
  await sql.unsafe(`
    insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    select case when n % 3 = 0 then '${other}'::uuid else '${a}'::uuid end, now() - n * interval '100 milliseconds',
      md5('event' || n)::uuid, case when n % 5 > 0 then 'api_key' else 'admin_key' end,
      case when n % 5 > 0 then '${a}' when operation % ${RARE} = 0 then '${actor[1]}' else '${actor[0]}' end,
      case when n % 5 = 1 then 'AdminService/CompleteLogin' when n % 5 = 2 then 'AuthService/ExchangeToken'
        when n % 5 > 2 then 'SessionService/RenewSession' when operation % ${RARE} = 1 then '${action[1]}' else '${action[0]}' end,
      case when n % 5 > 0 then gen_random_uuid()::text when operation % ${Math.ceil(count / 5 / QUIET)} = 2 then '${resource[1]}' when operation % ${Math.ceil(count / 5 / BUSY)} = 3 then '${resource[0]}'
        when operation < 2000 then '${u}' else gen_random_uuid()::text end,
      '203.0.113.7', md5('request' || n)
    from (select n, n / 5 as operation from generate_series(1, ${count}) n) numbers`);
}
