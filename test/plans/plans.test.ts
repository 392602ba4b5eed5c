/** How Postgres runs every statement of the service on tables with thousands of rows. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { Database, type Statement } from '../../src/database/pool/database.ts';
import { ReadDetector } from '../../src/database/pool/statement-runner.ts';
import { ENDINGS } from '../../src/domain/sessions/endings.ts';
import { removeExpired } from '../../src/jobs/expiry.ts';
import { cloneDatabase } from '../support/database.ts';
import {
  changesRows,
  isPlannedAnew,
  type PlanMode,
  type Plans,
  readsOf,
  StatementExplainer,
} from '../support/statement-explainer.ts';
import { type RecordedStatement, readRecord } from '../support/statement-record.ts';

type Explained = Pick<RecordedStatement, 'name' | 'layout' | 'sql' | 'columns'> & { readonly plans: Plans };

const MODES: readonly PlanMode[] = ['force_custom_plan', 'force_generic_plan'];
const ROWS = 5_000;
const BY_INDEX = new Set(['Index Scan', 'Index Only Scan', 'Bitmap Heap Scan', 'Tid Scan']);
const SOURCES = join(import.meta.dirname, '../../src');
/** The most rows of one table that a call reads: ten, and one that tells whether there are more. */
const CALL_ROWS = 11;
/** Those that the first batch of a job reads and removes. */
const BATCH_ROWS = 500;
/** The deliveries that one statement fans out to, and as many webhooks. */
const FAN_OUT_ROWS = 1_000;
/** Deliveries that a scrape of the metrics counts, or the console. */
const COUNTED_ROWS = 10_000;
const COUNTING = [
  'count_access_losers',
  'count_all_check_ins',
  // Operators change few applications, and read all of them: those that name a client.
  'mark_application_deleted',
  'update_application',
  'count_deliveries',
  'count_other_attendees',
  'insert_device_login',
  'store_group_access',
  // A list of some hundred, which costs about the same to sort as to read in order.
  'mark_deleted_list_part',
  'select_backlog',
  'select_event_counts',
  // Of all applications, those that have left the file.
  'select_gone_applications',
  'select_hourly_counts',
  'select_inviter',
  'select_totals',
];
/** The statements of jobs, of imports and exports, which take a hundred users at a time, and lists of what is live among so many. */
const JOBS = [
  'insert_lines',
  'insert_lines_and_notify',
  'select_known_of_lines',
  'select_known_passkeys',
  'select_users_to_export',
  'delete_batch',
  'delete_sessions',
  'expire_invitation',
  'extend_leases',
  'insert_deliveries',
  'mark_deleted_list_part',
  'select_batch_end',
  'select_deleted_lists',
  'select_due_notices',
  'select_due_queues',
  'select_live_sessions',
  'select_live_sessions_reached',
  'select_oidc_grants',
  // A batch, whose generic plan costs about the same as its own.
  'select_sessions_to_check',
  // A page, of which the same holds.
  'select_oidc_grants_reached',
  // A page that looks through so many for an action that is frequent.
  'select_frequent_audit_events',
  'select_frequent_audit_events_reached',
  'select_frequent_audit_events_in_application_reached',
  // It never runs with its generic plan, which looks through the grants of an application.
  'select_revocations',
  'select_unfinished_changes',
  'select_encrypted',
  'select_expired_invitations',
  'select_unsent_messages',
  'update_signing_key',
];

/** Lists, changes and batches for which planning costs little: few come in a second. */
const PLANNED_ANEW = [
  // Those of a file run when it changes.
  'count_access_losers',
  'select_access_of_applications',
  'select_keys_of_applications',
  'select_logos_of_applications',
  'select_named_applications',
  'select_owners_of_digests',
  'select_owners_of_resources',
  'allow_device',
  'consent_to_client',
  'cut_off_refused',
  'cut_off_refused_of_application',
  'delete_group_member',
  'end_group_members',
  'end_refused_users',
  // Where a second step is needed, which is a slow thing for people.
  'hold_sign_in',
  'insert_device_login',
  'insert_webhook',
  'remove_bodies_of_erased',
  // Sends an e-mail.
  'select_address_facts',
  'select_application_groups',
  'select_audit_events',
  'select_audit_events_by_actor',
  'select_clients_of_resource',
  'select_deliveries',
  'select_ending_api_keys',
  'select_feed_ends',
  'select_feed_messages_of_types',
  'select_grants_to_check',
  'select_hourly_counts',
  'select_inviter',
  'select_names',
  'select_users_by_email',
  'select_users_by_wallet',
  'select_users_of_application',
  'select_users_of_application_by_email',
  'select_webhooks',
  'set_api_keys_last_used',
  'settle_batch',
  'update_changed_webhook',
  'update_user',
];

const database = await cloneDatabase();
afterAll(() => database[Symbol.asyncDispose]());
await fill();
const recorded = await explainRecord();
const removing = await explainRemoval();
const statements = [...recorded.filter(({ name }) => !removing.some((one) => one.name === name)), ...removing];

describe('the service', () => {
  // Those of the database folder ask Postgres about itself, and a check of everything runs once, by hand.
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter(
      (name) => name.endsWith('.ts') && !/^(check|database|reference|testing)\/|^jobs\/read-secret-counts/.test(name),
    )
    .map((name) => ({ name, text: withoutComments(readFileSync(join(SOURCES, name), 'utf8')) }));

  test('prepares no statement that these tests do not run', () => {
    const explained = new Set(statements.map(({ name }) => name));
    const prepared = files.flatMap(({ text }) => [
      ...text.matchAll(
        /(?:\.prepare|\bstatement|\bcreateList|\bselectPage)\(\s*(?!name\b|statementName\b)(?:'(\w+)')?/g,
      ),
    ]);
    const missing = prepared.map(([, name = 'one without a name']) => name).filter((name) => !explained.has(name));
    expect(missing).toEqual([]);
    const names = prepared.map(([, name]) => name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test('sends forms of a statement for both layouts that all read, or all write', () => {
    const split = statements.filter(({ layout }) => layout !== undefined);
    expect(new Set(split.map(({ layout }) => layout))).toEqual(new Set(['whole', 'distributed']));
    for (const { name, sql } of split) {
      const forms = split.filter((form) => form.name === name);
      expect(new Set(forms.map(mayRead)), sql).toEqual(new Set([mayRead({ sql })]));
    }
  });

  test('tells readers of revocations what each statement ends that writes a cut-off or ends a grant', () => {
    const writes = /insert into (session|user)_cutoffs|\bended_at = statement_timestamp/;
    const ending = new Set(statements.filter(({ sql }) => writes.test(sql)).map(({ name }) => name));
    // A browser's cut-off refuses what no application has got yet.
    expect([...ending].sort()).toEqual(ENDINGS.flatMap((each) => each.statements).sort());
  });

  test('reads from every statement the columns that it has, and as the types that they have', async () => {
    const types = await database.sql`select oid, format_type(oid, null) as name from pg_type`;
    const names = new Map(types.map(({ oid, name }) => [oid, name]));
    for (const { name, sql, columns: read } of statements) {
      if (!read) continue;
      const { columns } = await database.sql.unsafe(sql).describe();
      const described = Object.fromEntries(columns.map((column) => [column.name, names.get(column.type)]));
      expect(read, name).toEqual(described);
    }
  });

  test('takes for reads exactly the statements that change nothing, lock nothing, and call no volatile function', async () => {
    const rows = await database.sql`select distinct proname as name from pg_proc where provolatile = 'v'`;
    const volatile = new Set(rows.map(({ name }) => name));
    const isRead = ({ sql, plans }: Explained) => {
      const called = [...sql.matchAll(/(\w+)"?\s*\(/g)].map(([, name = '']) => name.toLowerCase());
      return !changesRows(plans.force_generic_plan) && !called.some((name) => volatile.has(name));
    };
    const misjudged = statements.filter((explained) => mayRead(explained) !== isRead(explained));
    expect(misjudged.map(({ name }) => name)).toEqual([]);
    expect(new Set(statements.map(isRead))).toEqual(new Set([true, false]));
  });

  test('says that a passkey was removed in every statement that removes one of somebody who can sign in', () => {
    const removing = statements.filter(({ sql }) => /\bdelete from passkeys\b/.test(sql));
    const silent = removing.filter(({ sql }) => !sql.includes('passkey_removed_at = case'));
    expect(removing.length).toBeGreaterThan(silent.length);
    expect([...new Set(silent.map(({ name }) => name))].sort()).toEqual([
      'delete_passkeys_of_deleted_user',
      // `use_recovery_link` has said it.
      'end_late_of_recovery',
      'mark_user_deleted',
      'remove_personal_data',
      // Of the passkey that the same call has just stored.
      'withdraw_passkey',
    ]);
  });

  test('sends no statement that is not prepared', () => {
    const others = files.filter(({ text }) => /\.unsafe\(|\.execute\(\s*sql|\bclient(<.*>)?`/.test(text));
    expect(others.map(({ name }) => name)).toEqual([]);
  });
});

/** Whether the service takes it for a read. */
function mayRead({ sql }: Pick<Explained, 'sql'>): boolean {
  return new ReadDetector().isRead((() => ({ getQuery: () => ({ sql }) })) as unknown as Statement<unknown>);
}

/** What Citus, YugabyteDB or CockroachDB refuse. */
const UNPORTABLE: readonly { pattern: RegExp }[] = [
  { pattern: /\b(ctid|xmin|xmax)\b/ },
  { pattern: /\bskip locked\b/ },
  // Advisory locks of a session, which poolers leave behind.
  { pattern: /\bpg_(try_)?advisory_(un)?lock(_shared|_all)?\b/ },
  // Volatile functions in the condition of an update or delete.
  {
    pattern:
      /\b(update|delete from) (?!(of|skip|nowait)\b)(?:(?!\b(select|returning)\b).)* where (?:(?!\b(select|returning)\b).)*\b(pg_advisory_\w+|random|clock_timestamp|gen_random_uuid|nextval)\(/,
  },
  // Sums of an instant and columns in the condition of an update: they depend on the time zone.
  { pattern: /\bupdate (?:(?!\b(select|returning)\b).)* where (?:(?!\breturning\b).)*\+ [\w"]+\.[\w"]+ \* interval/ },
  // Subqueries in VALUES, and in what ON CONFLICT sets.
  { pattern: /\bvalues \((?:(?!\bon conflict\b|\breturning\b).)*\(select\b/ },
  { pattern: /\bdo update set (?:(?!\breturning\b|\), \w+ as \().)*\(\s*select\b/ },
  // Subqueries without columns, whose rows Citus cannot keep.
  { pattern: /\(\s*select from\b/ },
  // Functions that are not immutable in a COALESCE.
  { pattern: /\bcoalesce\((?:(?!\bfrom\b).)*\b(clock|statement)_timestamp\(/ },
  // A comparison with one value: Citus writes it to its workers as one with true and false.
  { pattern: /\bcase (?!when\b)/ },
];

test.each(UNPORTABLE)('no statement has $pattern', ({ pattern }) => {
  const found = statements.filter(({ sql }) => pattern.test(sql.replaceAll(/\s+/g, ' ').toLowerCase()));
  expect(found.map(({ name }) => name)).toEqual([]);
});

describe.each(MODES)('with %s', (mode) => {
  test('reads every table by an index, or at known places', () => {
    const scans = statements.flatMap(({ name, sql, plans }) =>
      readsOf(plans[mode])
        .filter((read) => !BY_INDEX.has(read.type) && !isCheaperWhole(name, sql))
        .map(({ type, table }) => `${type} on ${table}: ${name}`),
    );
    expect(scans).toEqual([]);
  });

  test('reads no more rows than needed, however many there are', () => {
    const excesses = statements.flatMap(({ name, sql, plans }) => {
      const ofJob = name === 'insert_deliveries' ? FAN_OUT_ROWS : BATCH_ROWS;
      const most = COUNTING.includes(name) ? COUNTED_ROWS : JOBS.includes(name) ? ofJob : CALL_ROWS;
      return readsOf(plans[mode])
        .filter(({ rows }) => rows > most && !isCheaperWhole(name, sql))
        .map(({ type, table, rows }) => `${rows} rows, ${type} on ${table}: ${name}`);
    });
    expect(excesses).toEqual([]);
  });

  test('removes a whole batch of what has expired, and no more', async () => {
    const batches = statements.filter(({ name }) => name === 'delete_batch');
    const tables = await database.sql`
      select from information_schema.columns
      where table_schema = 'usher' and (column_name = 'expires_at' and table_name not in ('api_keys', 'invitations', 'sessions')
        or column_name = 'occurred_at' and table_name not in ('audit_outbox', 'check_ins'))`;
    // Those of `session_ids` remove the sessions, too. API keys stay. Invitations have a job of their own. Four tables of webhooks, the counts and sign-ins are kept by age. Abandoned logins go before others, grants that were ended after others, and attendees have a time of their own.
    expect(batches).toHaveLength(tables.length + 9);
    for (const { plans } of batches) {
      expect(Math.max(...readsOf(plans[mode]).map(({ rows }) => rows))).toBe(BATCH_ROWS);
    }
  });
});

test('no other statement is planned anew each time', () => {
  const anew = statements.filter(isPlannedAnew).map(({ name }) => name);
  expect(anew.filter((name) => !PLANNED_ANEW.includes(name) && !JOBS.includes(name))).toEqual([]);
});

/**
 * Up to some 60,000 sessions, Postgres finds those of a batch of IDs by reading them all. So it finds the end of a
 * large batch among few rows. There are at most 1,000 groups, of which
 * an application has 100, and few applications see one group.
 */
function isCheaperWhole(name: string, text: string): boolean {
  if (
    [
      // Exports and files of applications read what the file names, or everything.
      'count_access_losers',
      'select_access_of_applications',
      'select_declarable_applications',
      'select_declarable_groups',
      // Of one row.
      'select_declared_file',
      'store_declared_file',
      'select_keys_of_applications',
      'select_logos_of_applications',
      'select_named_applications',
      // A batch of a hundred, among so few.
      'insert_lines',
      'insert_lines_and_notify',
      'insert_group',
      'mark_application_deleted',
      'update_application',
      'select_application_groups',
      'mark_group_deleted',
      'delete_group_member',
      'end_group_members',
      'insert_group_member',
      'accept_invitation',
    ].includes(name)
  )
    return true;
  return name === 'delete_sessions' || (name === 'select_batch_end' && !text.includes(`offset ${BATCH_ROWS - 1}`));
}

/**
 * Thousands of rows in every table, a hundred per application, and what Postgres wants to know of them. None has
 * expired for the service itself, whose expiry job runs meanwhile.
 */
async function fill(): Promise<void> {
  const { sql } = database;
  await sql.unsafe(`
    insert into applications (id, name, client_id, redirect_uris, created_at)
      select gen_random_uuid(), 'Application ' || n, 'client_' || n, array['https://app.test/callback'], now()
      from generate_series(1, ${ROWS}) n;
    insert into users (id, email, wallet_address, created_at)
      select gen_random_uuid(), n || '@example.com', 'wallet ' || n, now() from generate_series(1, ${ROWS}) n;
    insert into api_keys (application_id, id, digest, created_at)
      select id, gen_random_uuid(), sha256(id::text::bytea), now() from applications;
    insert into application_logos (application_id, theme, digest, media_type, width, height, image)
      select id, theme, sha256(id::text::bytea), 'image/png', 1, 1, '\\x00' from applications, unnest(array['light', 'dark']) as theme;
    create temporary table tenants as select id, row_number() over () - 1 as n from applications limit 50;
    create temporary table people as select id, row_number() over () - 1 as n from users;
    insert into webhooks (application_id, id, url, signing_key, owner_id, created_at, updated_at)
      select tenants.id, 'wh_' || md5(people.n::text), 'https://example.com', '\\x00', people.id, now(), now()
      from people join tenants on tenants.n = people.n % 50;
    insert into events (application_id, id, created_at)
      select tenants.id, 'event-' || people.n, now() from people join tenants on tenants.n = people.n % 50;
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
      select application_id, id, 'attendee', now() from events;
    insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at, removed_at)
      select application_id, id, 'attendee', '', false, 1, now(), now() + row_number() over () * interval '1 second' from events;
    update events set deleted_at = now() - interval '30 days' + interval '1 hour', attendee_version = 1200 where id = 'event-0';
    insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
      select application_id, id, n::text, '', false, n, now() from events, generate_series(1, 1200) n where id = 'event-0';
    insert into scans (application_id, event_id, scan_id, attendee_id, outcome, received_at)
      select application_id, id, gen_random_uuid(), 'attendee', 'REFUSED',
        now() - interval '14 days' + row_number() over () * interval '1 second' from events;
    insert into audit_events
      (application_id, id, occurred_at, actor_type, actor, action, resource, ip_address, request_id)
      select tenants.id, gen_random_uuid(), now() - interval '400 days' + people.n * interval '1 second',
        'admin_key', 'admin', 'EventService/CreateEvent', 'event-' || people.n, '::1', 'request'
      from people join tenants on tenants.n = people.n % 50;
    insert into audit_events
      (application_id, id, occurred_at, actor_type, actor, action, resource, ip_address, request_id)
      select tenants.id, gen_random_uuid(), now() - age * interval '1 day' + people.n * interval '1 second',
        'api_key', 'key ' || people.n, 'AuthService/ExchangeToken', people.id, '::1', 'request'
      from people join tenants on tenants.n = people.n % 50, unnest(array[90, 1]) as age;
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
        authenticated_at, began_at, created_at, expires_at)
      select tenants.id, people.id, gen_random_uuid(), 'a@b', 'wallet', '::1', '', 'page', now(), now(), now(),
        now() + n.n * interval '1 second'
      from people join tenants on tenants.n = people.n % 50, lateral (select people.n) n;
    insert into session_ids (application_id, id, user_id, authenticated_at, created_at, expires_at, kept_until)
      select application_id, id, user_id, authenticated_at, created_at, expires_at, expires_at from sessions;
    insert into session_cutoffs (application_id, user_id, cutoff_at, expires_at, changed_at)
      select application_id, id, created_at, expires_at, created_at - interval '1 day' from sessions;
    insert into user_cutoffs (user_id, cutoff_at, expires_at, changed_at)
      select id, created_at, expires_at, created_at - interval '1 day' from sessions;
    insert into browser_cutoffs (user_id, browser_digest, cutoff_at, expires_at)
      select user_id, sha256(id::text::bytea), created_at, expires_at from sessions;
    insert into application_users (application_id, user_id, first_signed_in_at)
      select application_id, user_id, created_at from sessions;
    insert into added_users (application_id, user_id, added_at) select application_id, user_id, now() from sessions;
    insert into invitations (application_id, id, email, user_id, created_user, added_user, created_at, expires_at)
      select application_id, id, id, user_id, false, false, created_at, now() + interval '1 day' from sessions;
    insert into groups (id, name, created_at) select gen_random_uuid(), 'group-' || n, now() from generate_series(0, 899) n;
    insert into group_members (group_id, user_id, added_at)
      select groups.id, people.id, now() from people join groups on groups.name = 'group-' || people.n % 900;
    insert into unfinished_changes (id, kind, subject_id, created_at, due_at)
      select gen_random_uuid(), 'user', id, now(), now() + interval '1 day' from people;
    insert into application_groups (application_id, group_id, allows_access, in_claim)
      select tenants.id, groups.id, true, true from tenants, groups where groups.name < 'group-11';
    insert into login_intents (application_id, id, redirect_uri, state, created_at, expires_at, user_id)
      select tenants.id, gen_random_uuid(), 'https://app.test', 'state', now(), now() + people.n * interval '1 second', people.id
      from people join tenants on tenants.n = people.n % 50;
    update login_intents set user_code_digest = sha256(id::text::bytea);
    insert into login_codes (application_id, login_intent_id, id, browser_digest, code_digest, email, created_at, expires_at)
      select application_id, id, gen_random_uuid(), '\\x00', '\\x00', id || '@example.com', created_at, expires_at from login_intents;
    insert into notices (application_id, id, kind, user_id, recipient, value, language, changed_at, due_at, expires_at)
      select application_id, id, 'walletLinked', id, id || '@example.com', 'wallet', 'en', created_at, expires_at, expires_at
      from login_intents;
    insert into wallet_challenges (application_id, login_intent_id, id, browser_digest, address, message, created_at, expires_at)
      select application_id, id, gen_random_uuid(), '\\x00', id::text, 'message', created_at, expires_at from login_intents;
    insert into proved_identities (application_id, login_intent_id, id, browser_digest, provider, issuer, subject, email,
        created_at, expires_at)
      select application_id, id, gen_random_uuid(), '\\x00', 'acme', 'https://acme.test', id::text, '', created_at, expires_at
      from login_intents;
    insert into user_identities (issuer, subject, user_id, provider, created_at)
      select 'https://acme.test', id::text, id, 'acme', now() from people;
    insert into rate_limits (key, empty_ms, expires_at)
      select sha256(id::text::bytea), 0, expires_at from login_intents;
    insert into remembered_sign_ins (token_digest, user_id, method, authenticated_at, expires_at)
      select sha256(id::text::bytea), user_id, 'email', created_at, expires_at from login_intents;
    insert into known_origins (key, user_id, expires_at)
      select sha256(id::text::bytea), user_id, expires_at from login_intents;
    insert into recovery_links (id, user_id, digest, code_hmac, address_key, removes, created_by, created_at, usable_at,
        expires_at)
      select id, user_id, sha256(id::text::bytea), '\\x00', '\\x00', '{PASSKEYS}', 'admin', created_at, created_at,
        expires_at - interval '90 days'
      from login_intents;
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
        is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
      select id, gen_random_uuid(), sha256(id::text::bytea), 'usher.test', '\\x00', 0, '{}', gen_random_uuid(),
        true, true, true, 'Passkey', now()
      from people;
    insert into totp_secrets (user_id, id, sealed, last_step, created_at)
      select id, gen_random_uuid(), '\\x00', 0, now() from people;
    insert into recovery_codes (user_id, digest, created_at)
      select id, sha256((id::text || code)::bytea), now() from people, generate_series(1, 10) code;
    insert into held_sign_ins (application_id, login_intent_id, user_id, method, browser_digest, proved_at, expires_at)
      select application_id, id, user_id, 'email', '\\x00', created_at, expires_at from login_intents;
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at,
        rotation, created_at, expires_at)
      select application_id, id, user_id, id, 1, 'email', '::1', '', created_at, 1, created_at, expires_at from login_intents;
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at,
        rotation, created_at, expires_at, ended_at)
      select application_id, gen_random_uuid(), user_id, id, 1, 'email', '::1', '', created_at, 1, created_at, '1969-12-31',
        expires_at - interval '2 hours'
      from login_intents;
    insert into consents (application_id, user_id, client_id, client_name, scope_names, created_at)
      select application_id, user_id, 'https://app.test/client', 'Client', '{}', created_at from login_intents;
    insert into muted_addresses (key, expires_at) select sha256(id::text::bytea), expires_at from login_intents;
    insert into idempotency_keys (application_id, id, answer, expires_at)
      select application_id, id::text, sha256(id::text::bytea), expires_at from login_intents;
    insert into expiry_marks (name, reached_at) select 'mark ' || n, now() from generate_series(1, ${ROWS}) n;
    insert into hourly_counts (name, hour, count)
      select 'count ' || n % 10, now() - interval '90 days' + n * interval '1 second', n
      from generate_series(1, 5000) n;
    insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
      select id, 'event.created', '{}', now() - interval '10 days' - series.n * interval '1 second', null
      from tenants, generate_series(1, 200) series (n);
    insert into webhook_deliveries (application_id, webhook_id, message_id, status, due_at, created_at)
      select message.application_id, webhook.id, message.id, case message.id % 10 when 0 then 'pending' when 1 then 'failed' else 'succeeded' end,
        case when message.id % 10 = 0 then now() + interval '1 day' end, message.created_at
      from webhook_messages message
      cross join lateral (select id from webhooks where application_id = message.application_id limit 1) webhook;
    insert into message_feeds (application_id, epoch, next_position, is_active)
      select id, gen_random_uuid(), 5000, true from applications;
    insert into feed_positions (application_id, position, message_id, type, created_at)
      select application_id, row_number() over (partition by application_id order by id), id, type, created_at from webhook_messages;
    insert into webhook_attempts (application_id, webhook_id, message_id, attempted_at, duration_ms)
      select application_id, webhook_id, message_id, created_at, 1 from webhook_deliveries;
    insert into webhook_queues (application_id, webhook_id, next_at, failed_batches)
      select application_id, id, now() + interval '1 day', row_number() over () % 2 from webhooks;
    insert into webhook_signing_keys (application_id, webhook_id, id, signing_key, expires_at)
      select application_id, id, gen_random_uuid(), '\\x00', now() + row_number() over () * interval '1 second' from webhooks;
    drop table tenants, people`);
  await sql.unsafe('vacuum analyze');
}

/** The first execution of each statement, if possible with rows of this database in place of those of its own test. */
async function explainRecord(): Promise<readonly Explained[]> {
  using explainer = new StatementExplainer(database);
  const subjects = await findSubjects();
  const explained: Explained[] = [];
  for (const { name, layout, sql, columns, names, values } of await readRecord()) {
    const known = values.map((value, at) =>
      value === null || value.startsWith('{') ? value : (subjects[names[at] ?? ''] ?? value),
    );
    const plans: { -readonly [Mode in PlanMode]?: Plans[Mode] } = {};
    // An insert may find the row there.
    for (const mode of MODES)
      plans[mode] = await explainer.explain(sql, known, mode).catch(() => explainer.explain(sql, values, mode));
    explained.push({ name, layout, sql, columns, plans });
  }
  return explained;
}

/** Returns the IDs of rows that belong together, by the names of parameters. */
async function findSubjects(): Promise<Readonly<Record<string, string>>> {
  const [row] = await database.sql`
    select s.application_id as "applicationId", s.user_id as "userId", s.id as "sessionId", i.id as "loginIntentId",
      w.id as "webhookId", e.id as "eventId", 'attendee' as "attendeeId", ${CALL_ROWS} as "limit", ${CALL_ROWS} as size, g.id as "grantId", m.group_id as "groupId", u.email
    from sessions s
    join users u on u.id = s.user_id
    join login_intents i on i.user_id = s.user_id
    join oidc_grants g on g.user_id = s.user_id
    join group_members m on m.user_id = s.user_id
    join webhooks w on w.owner_id = s.user_id
    join events e on e.application_id = s.application_id and e.id <> 'event-0'
    order by u.email limit 1`;
  return row as never;
}

/** Explains the expiry of full batches. It leaves tables so empty that Postgres may come to read them whole. */
async function explainRemoval(): Promise<readonly Explained[]> {
  // Statements that were rolled back have left dead rows.
  await database.sql.unsafe('vacuum analyze');
  using explainer = new StatementExplainer(database);
  const expiring = new Database(database.url, { connections: 1, statementTimeoutMs: 60_000 });
  await removeExpired(expiring, { now: new Date(Date.now() + 2 * 60 * 60_000), webhookLogDays: 3 });
  await expiring.close();
  return explainer.explained.map((each) => ({ ...each, layout: undefined, columns: undefined }));
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '');
}
