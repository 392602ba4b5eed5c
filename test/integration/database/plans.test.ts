/** How Postgres runs every statement of the service on tables with thousands of rows. */
import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { is } from 'drizzle-orm';
import { PgColumn } from 'drizzle-orm/pg-core';
import { afterAll, describe, expect, test } from 'vitest';
import { Database, type Run } from '../../../src/database/pool/database.ts';
import { ReadDetector } from '../../../src/database/pool/statement-runner.ts';
import type { RowType } from '../../../src/database/sql/template.ts';
import { readBacklog } from '../../../src/delivery/backlog.ts';
import { DeliveryWorker } from '../../../src/delivery/worker.ts';
import { ApiKeys } from '../../../src/domain/api-keys/api-keys.ts';
import { findLogo } from '../../../src/domain/applications/find-logo.ts';
import { setApplicationLogo } from '../../../src/domain/applications/set-application-logo.ts';
import { readApplicationVersion } from '../../../src/domain/applications/update-application.ts';
import { BY_USHER, withAudit } from '../../../src/domain/audit/audit-event.ts';
import { listAuditEvents, listOperatorEvents } from '../../../src/domain/audit/list-audit-events.ts';
import { RowCipher } from '../../../src/domain/crypto/aes-gcm.ts';
import { listGrants } from '../../../src/domain/grants/list-grants.ts';
import { getGroupByName, readGroupVersion } from '../../../src/domain/groups/get-group.ts';
import { HourlyCounts } from '../../../src/domain/hourly-counts/hourly-counts.ts';
import { answerOnce } from '../../../src/domain/idempotency/answer-once.ts';
import { deactivateUser } from '../../../src/domain/lifecycle/end-user.ts';
import { endUserSessions } from '../../../src/domain/lifecycle/end-user-sessions.ts';
import { removeApplicationUser } from '../../../src/domain/lifecycle/remove-application-user.ts';
import { completeLogin } from '../../../src/domain/login/complete-login.ts';
import { createLoginCode } from '../../../src/domain/login/create-login-code.ts';
import { findApplicationOfClient } from '../../../src/domain/login/find-login-application.ts';
import { findLoginState, isReplaced } from '../../../src/domain/login/find-login-state.ts';
import { deriveLoginCodeKeys } from '../../../src/domain/login/login-code.ts';
import { createMuteToken, endMute, muteAddress } from '../../../src/domain/login/muted-addresses.ts';
import { noteSignIn } from '../../../src/domain/login/note-sign-in.ts';
import { recordSending } from '../../../src/domain/login/record-sending.ts';
import { redeemLoginCode } from '../../../src/domain/login/redeem-login-code.ts';
import { SignUpRules } from '../../../src/domain/login/sign-up-rules.ts';
import { selectEnds } from '../../../src/domain/messages/message-feeds.ts';
import { readMessages } from '../../../src/domain/messages/read-messages.ts';
import { claimNotice, findDueNotices, postponeNotice, removeNotice } from '../../../src/domain/notices/due-notices.ts';
import { PageTokens } from '../../../src/domain/pages/page-tokens.ts';
import { cutOffBrowser } from '../../../src/domain/sessions/browser-cutoffs.ts';
import { exchangeToken } from '../../../src/domain/sessions/exchange-token.ts';
import { listSessions } from '../../../src/domain/sessions/list-sessions.ts';
import { revokeSession } from '../../../src/domain/sessions/revoke-session.ts';
import { endOwnSessions, revokeUserSessions } from '../../../src/domain/sessions/revoke-user-sessions.ts';
import { AuthTokens } from '../../../src/domain/tokens/auth-tokens.ts';
import { getUser } from '../../../src/domain/users/get-user.ts';
import { listApplicationUsers } from '../../../src/domain/users/list-application-users.ts';
import { listUsers } from '../../../src/domain/users/list-users.ts';
import { readUserVersion } from '../../../src/domain/users/update-user.ts';
import { AddressPolicy } from '../../../src/domain/webhooks/address-policy.ts';
import { readWebhookVersion } from '../../../src/domain/webhooks/update-webhook.ts';
import { removeExpired } from '../../../src/jobs/expiry.ts';
import { readUsedKeyIds, runKeyRotation } from '../../../src/jobs/key-rotation.ts';
import { createLogger } from '../../../src/log.ts';
import { ACCOUNT_CLIENT_ID } from '../../../src/modules/account/domain/account-application.ts';
import { exportAccount } from '../../../src/modules/account/domain/export-account.ts';
import { findAccount } from '../../../src/modules/account/domain/find-account.ts';
import { openAccount } from '../../../src/modules/account/domain/open-account.ts';
import { undoAddressChange } from '../../../src/modules/account/domain/undo-address-change.ts';
import { readMigrations } from '../../../src/modules/console/pages/health.ts';
import { readNames } from '../../../src/modules/console/parts/audit-list.ts';
import {
  listDisabledWebhooks,
  listFailingWebhooks,
  readHourlyCounts,
  readTotals,
} from '../../../src/modules/console/statements/overview.ts';
import { countDeliveries, readQueueState } from '../../../src/modules/console/statements/webhooks.ts';
import { openDemo } from '../../../src/modules/demo/demo.ts';
import { makeExampleValues } from '../../../src/modules/demo/module.ts';
import { createPageOffers } from '../../../src/modules/open-modules.ts';
import { listRememberedSignIns } from '../../../src/modules/remembered-sign-ins/domain/list-remembered-sign-ins.ts';
import { createWalletChallenge } from '../../../src/modules/wallets/domain/create-wallet-challenge.ts';
import { redeemWalletSignature } from '../../../src/modules/wallets/domain/redeem-wallet-signature.ts';
import { cloneDatabase, type TestDatabase } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { newBrowser } from '../../support/new-browser.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { SoftwarePasskey } from '../../support/passkey.ts';
import { call as callOver, mainProtocolOf } from '../../support/protocols.ts';
import { credentialFor, sampleFields } from '../../support/samples.ts';
import {
  ADMIN_KEY,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestGroup,
  createTestUser,
  PUBLIC_URL,
  startTestService,
  type Tenant,
} from '../../support/service.ts';
import {
  changesRows,
  type ExplainedStatement,
  isPlannedAnew,
  readsOf,
  StatementExplainer,
} from '../../support/statement-explainer.ts';
import { useAuthorization } from '../../support/use-authorization.ts';
import { useDevices } from '../../support/use-devices.ts';
import { useEventRules } from '../../support/use-event-rules.ts';
import { useIdentities } from '../../support/use-identities.ts';
import { useInvitations } from '../../support/use-invitations.ts';
import { useOidc, useResources } from '../../support/use-oidc.ts';
import { usePasskeys } from '../../support/use-passkeys.ts';
import { useRememberedSignIns } from '../../support/use-remembered-sign-ins.ts';
import { useRestrictedAccess } from '../../support/use-restricted-access.ts';
import { Wallet } from '../../support/wallet.ts';

const ROWS = 5_000;
const BY_INDEX = new Set(['Index Scan', 'Index Only Scan', 'Bitmap Heap Scan', 'Tid Scan']);
const SOURCES = join(import.meta.dirname, '../../../src');
/** The most rows of one table that a call reads: ten, and one that tells whether there are more. */
const CALL_ROWS = 11;
/** Those that the first batch of a job reads and removes. */
const BATCH_ROWS = 500;
/** The deliveries that one statement fans out to, and as many webhooks. */
const FAN_OUT_ROWS = 1_000;
/** Deliveries that a scrape of the metrics counts, or the console. */
const COUNTED_ROWS = 10_000;
const COUNTING = [
  'count_all_check_ins',
  'count_deliveries',
  'count_other_attendees',
  'insert_device_login',
  // A list of some hundred, which costs about the same to sort as to read in order.
  'mark_deleted_list_part',
  'select_backlog',
  'select_event_counts',
  'select_inviter',
  'select_totals',
];
/** The statements of jobs, and of imports and exports, which take a hundred users at a time. */
const JOBS = [
  'insert_lines',
  'insert_lines_and_notify',
  'select_known_of_lines',
  'select_known_passkeys',
  'select_users_to_export',
  'delete_batch',
  'delete_sessions',
  'expire_invitation',
  'insert_deliveries',
  'mark_deleted_list_part',
  'select_batch_end',
  'select_deleted_lists',
  'select_due_notices',
  'select_due_queues',
  // A batch, whose generic plan costs about the same as its own.
  'select_sessions_to_check',
  // A page, of which the same holds.
  'select_oidc_grants_reached',
  'select_unfinished_changes',
  'select_encrypted',
  'select_expired_invitations',
  'select_unsent_messages',
];

/** Lists, changes and batches for which planning costs little: few come in a second. */
const PLANNED_ANEW = [
  'allow_device',
  'consent_to_client',
  'cut_off_refused',
  'cut_off_refused_of_application',
  'end_group_members',
  'end_refused_users',
  'delete_group_member',
  'extend_leases',
  'insert_device_login',
  'insert_webhook',
  'remove_bodies_of_erased',
  'select_application_groups',
  'select_audit_events',
  'select_audit_events_by_actor',
  'select_deliveries',
  'select_feed_ends',
  'select_feed_messages_of_types',
  'select_grants_to_check',
  'select_hourly_counts',
  'select_inviter',
  'select_live_sessions',
  'select_names',
  'select_clients_of_resource',
  'select_oidc_grants',
  'select_users_of_application',
  'select_users_of_application_by_email',
  'select_webhooks',
  'set_api_keys_last_used',
  'settle_batch',
  'update_changed_webhook',
  'update_user',
];

const testDatabase = await cloneDatabase();
const service = await startTestService({ database: testDatabase });
await fill(testDatabase);
const statements = await explainAllStatements();

afterAll(() => testDatabase[Symbol.asyncDispose]());

describe('the service', () => {
  // Those of the database folder ask Postgres about itself.
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('database/'))
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

  test('sends the forms of a statement for both layouts, and both read or both write', () => {
    const explained = new Set(statements.map(({ statement }) => statement));
    const detector = new ReadDetector();
    const split = statements.filter(({ statement: { forms } }) => forms !== undefined);
    for (const { name, statement } of split) {
      const forms = Object.values(statement.forms ?? {});
      expect(
        forms.filter((form) => !explained.has(form)),
        name,
      ).toEqual([]);
      expect(new Set(forms.map((form) => detector.isRead(form))).size, name).toBe(1);
    }
    expect(new Set(split.map(({ statement }) => Object.keys(statement.forms ?? {}).join()))).toEqual(
      new Set(['whole,distributed', 'whole', 'distributed']),
    );
  });

  test('reads from every statement the columns that it has, and as the types that they have', async () => {
    const types = await service.database.sql`select oid, format_type(oid, null) as name from pg_type`;
    const names = new Map(types.map(({ oid, name }) => [oid, name]));
    for (const { name, sql, statement } of statements) {
      if (!('rowType' in statement) || !statement.rowType) continue;
      const { columns } = await service.database.sql.unsafe(sql).describe();
      const described = Object.fromEntries(columns.map((column) => [column.name, names.get(column.type)]));
      expect(flatten(statement.rowType as RowType), name).toEqual(described);
    }
  });

  test('takes for reads exactly the statements that change nothing, lock nothing, and call no volatile function', async () => {
    const rows = await service.database.sql`select distinct proname as name from pg_proc where provolatile = 'v'`;
    const volatile = new Set(rows.map(({ name }) => name));
    const isRead = ({ sql, plans }: ExplainedStatement) => {
      const called = [...sql.matchAll(/(\w+)"?\s*\(/g)].map(([, name = '']) => name.toLowerCase());
      return !changesRows(plans.force_generic_plan) && !called.some((name) => volatile.has(name));
    };
    const detector = new ReadDetector();
    const misjudged = statements.filter((explained) => detector.isRead(explained.statement) !== isRead(explained));
    expect(misjudged.map(({ name }) => name)).toEqual([]);
    expect(new Set(statements.map(isRead))).toEqual(new Set([true, false]));
  });

  test('says that a passkey was removed in every statement that removes one of somebody who can sign in', () => {
    const removing = statements.filter(({ sql }) => /\bdelete from passkeys\b/.test(sql));
    const silent = removing.filter(({ sql }) => !sql.includes('passkey_removed_at = case'));
    expect(removing.length).toBeGreaterThan(silent.length);
    expect([...new Set(silent.map(({ name }) => name))].sort()).toEqual([
      'delete_passkeys_of_deleted_user',
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

/** Returns the names of a row's columns with their types. */
function flatten(rowType: RowType): Record<string, string> {
  const columns = Object.entries(rowType).map(([name, type]): Record<string, string> => {
    const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (is(type, PgColumn)) return { [column]: type.getSQLType().replace(/ ?\(\d\)/, '') };
    return 'sqlType' in type ? { [column]: String(type.sqlType) } : flatten(type as RowType);
  });
  return Object.assign({}, ...columns);
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

describe.each(['force_custom_plan', 'force_generic_plan'] as const)('with %s', (mode) => {
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
    const tables = await service.database.sql`
      select from information_schema.columns
      where table_schema = 'usher' and (column_name = 'expires_at' and table_name not in ('api_keys', 'invitations', 'sessions')
        or column_name = 'occurred_at' and table_name not in ('audit_outbox', 'check_ins'))`;
    // Those of `session_ids` remove the sessions, too. API keys stay. Invitations have a job of their own. Four tables of webhooks, the counts and sign-ins are kept by age. Abandoned logins go before others, and attendees have a time of their own.
    expect(batches).toHaveLength(tables.length + 8);
    for (const { plans } of batches) {
      expect(Math.max(...readsOf(plans[mode]).map(({ rows }) => rows))).toBe(BATCH_ROWS);
    }
  });
});

test('no other statement is planned anew each time', () => {
  const anew = statements.filter(isPlannedAnew).map(({ name }) => name);
  expect(anew.filter((name) => !PLANNED_ANEW.includes(name) && !JOBS.includes(name))).toEqual([]);
  expect(PLANNED_ANEW.filter((name) => !anew.includes(name))).toEqual([]);
});

/**
 * Up to some 60,000 sessions, Postgres finds those of a batch of IDs by reading them all. So it finds the end of a
 * large batch among few rows. There are at most 1,000 groups, of which
 * an application has 100, and few applications see one group.
 */
function isCheaperWhole(name: string, text: string): boolean {
  if (
    [
      'insert_group',
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
async function fill({ sql }: TestDatabase): Promise<void> {
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
      select tenants.id, gen_random_uuid(), now() - interval '90 days' + people.n * interval '1 second',
        'api_key', 'key ' || people.n, 'AuthService/ExchangeToken', people.id, '::1', 'request'
      from people join tenants on tenants.n = people.n % 50;
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
        authenticated_at, began_at, created_at, expires_at)
      select tenants.id, people.id, gen_random_uuid(), 'a@b', 'wallet', '::1', '', 'page', now(), now(), now(),
        now() + n.n * interval '1 second'
      from people join tenants on tenants.n = people.n % 50, lateral (select people.n) n;
    insert into session_ids (application_id, id, user_id, authenticated_at, created_at, expires_at, kept_until)
      select application_id, id, user_id, authenticated_at, created_at, expires_at, expires_at from sessions;
    insert into session_cutoffs (application_id, user_id, cutoff_at, expires_at)
      select application_id, id, created_at, expires_at from sessions;
    insert into user_cutoffs (user_id, cutoff_at, expires_at) select id, created_at, expires_at from sessions;
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
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
        is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
      select id, gen_random_uuid(), sha256(id::text::bytea), 'usher.test', '\\x00', 0, '{}', gen_random_uuid(),
        true, true, true, 'Passkey', now()
      from people;
    insert into oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at,
        rotation, created_at, expires_at)
      select application_id, id, user_id, id, 1, 'email', '::1', '', created_at, 1, created_at, expires_at from login_intents;
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

/** Sends each statement as the service does: over its ports, from its login page, and from its jobs. */
async function explainAllStatements(): Promise<readonly ExplainedStatement[]> {
  const ofService = await explainStatementsOfService();
  await service.close();
  // The service's own job may have run meanwhile, and removed little.
  const ofRemoval = await explainRemoval();
  const names = new Set(ofRemoval.map(({ name }) => name));
  return [...ofService.filter(({ name }) => !names.has(name)), ...ofRemoval];
}

/** Leaves tables so empty that Postgres may come to read them whole. */
async function explainRemoval(): Promise<readonly ExplainedStatement[]> {
  using explainer = new StatementExplainer(testDatabase);
  const database = new Database(testDatabase.url, { connections: 1, statementTimeoutMs: 60_000 });
  await removeExpired(database, { now: new Date(Date.now() + 2 * 60 * 60_000), webhookLogDays: 3 });
  await database.close();
  return explainer.explained;
}

async function explainStatementsOfService(): Promise<readonly ExplainedStatement[]> {
  using explainer = new StatementExplainer(service.database);
  const tenant = await createTenant(service);
  for (const operation of OPERATIONS) {
    const { method } = operation;
    const fields = await sampleFields(method, { service, tenant });
    const headers = credentialFor(operation, tenant);
    const answer = await callOver(mainProtocolOf(method), service.url, method, fields, headers);
    expect(answer, method.name).toMatchObject({ code: 'ok' });
    // Some statements tell why a call that is made again is refused.
    await callOver(mainProtocolOf(method), service.url, method, fields, headers);
  }

  const key = { 'x-admin-key': ADMIN_KEY };
  const publicKey = new SoftwarePasskey().publicKey.toString('base64url');
  const passkeys = [{ credentialId: 'AAAA', publicKey, rpId: new URL(PUBLIC_URL).hostname }];
  const [email, { name: group }] = [`${randomUUID()}@example.com`, await createTestGroup(service)];
  const lines = {
    '': { email, passkeys },
    '?onConflict=update': { email, groups: [group] },
    '?notify=true': { email: `${randomUUID()}@example.com` },
  };
  for (const [query, line] of Object.entries(lines)) {
    const body = JSON.stringify(line);
    await (await fetch(`${service.url}/admin/users.jsonl${query}`, { method: 'POST', headers: key, body })).text();
  }
  const exported = await fetch(`${service.url}/admin/users.jsonl`, { headers: key });
  await exported.body?.cancel();

  const { database } = explainer;
  if (!database) throw new Error('The service has sent nothing');
  const { authSigningKeys = [], encryptionKeys = [] } = service.config.secrets;
  const tokens = await AuthTokens.create(PUBLIC_URL, authSigningKeys);
  const cipher = new RowCipher(encryptionKeys);
  const now = new Date();
  const run = withAudit(database.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
  const call = { run, now };
  const authPageUrl = `${PUBLIC_URL}/login`;
  const page = { authPageUrl, chainId: 1 };

  const browser = newBrowser();
  const codes = { keys: deriveLoginCodeKeys(encryptionKeys), limitFactor: 1 };
  const parts = { tokens, codes, signUps: new SignUpRules() };
  const wallet = new Wallet();
  const user = await createTestUser(service, { walletAddress: wallet.address });
  const byEmail = { loginIntentId: await createLoginIntent(service, tenant) };
  const send = (at: Date) => createLoginCode({ ...call, now: at }, parts, browser, { ...byEmail, email: user.email });
  const { code, row } = await send(now);
  await recordSending(call, row, false);
  const muteToken = createMuteToken(codes.keys, user.email, now);
  await muteAddress(call, codes.keys, muteToken);
  await send(new Date(now.getTime() + 30_000));
  await endMute(call, codes.keys, muteToken);
  await redeemLoginCode(call, parts, browser, { ...byEmail, code });
  await findLoginState(call, tokens, browser, byEmail.loginIntentId);
  const { answerDigest: ofAnother } = newBrowser();
  const completed = { userId: user.id, browserDigest: browser.digest, answerDigest: null };
  await isReplaced(call, { ...browser, knownAnswers: [ofAnother] }, completed);
  const byWallet = { loginIntentId: await createLoginIntent(service, tenant) };
  const challenge = { ...byWallet, address: wallet.address };
  const { message } = await createWalletChallenge(call, page, browser, challenge);
  const signIn = { tokens, codes, hasEmail: true, node: undefined };
  await redeemWalletSignature(call, signIn, browser, { ...byWallet, signature: wallet.sign(message) });

  const noticing = { ...call, notices: { toLanguage: () => 'en', wake: () => {} } };
  const where = { userId: user.id, applicationId: tenant.id, locale: null };
  await noteSignIn(noticing, codes.keys, { ...newBrowser(), address: '198.51.100.7' }, where);

  const signedIn = await createTestUser(service);
  const account = {
    userId: signedIn.id,
    authenticatedAt: now,
    method: 'email',
    assurance: 1,
    loginIntentId: '',
  } as const;
  const claims = { ...account, loginIntentId: randomUUID(), clientId: ACCOUNT_CLIENT_ID };
  await openAccount(call, tokens, await tokens.mint(claims)).catch(() => undefined);
  const found = await findAccount(call, browser, { ...account, openedAt: now, isContinued: false });
  if (!found) throw new Error('Nobody is signed in to the account page');
  const offers = createPageOffers(service.config, { authPageUrl, encryptionKeys });
  const sections = offers.flatMap(({ accountSection = [] }) => accountSection);
  await exportAccount(call, found.user, sections);
  const [notice] = await findDueNotices(run, new Date(now.getTime() + 60 * 60_000), 3);
  if (!notice) throw new Error('No notice is due');
  await claimNotice(run, notice, now);
  await postponeNotice(run, notice, now);
  await removeNotice(run, notice);
  await listRememberedSignIns(call, signedIn.id);
  await cutOffBrowser(call, { userId: signedIn.id, browserDigest: browser.digest });
  await endUserSessions(call, account);
  await undoAddressChange(call, { userId: signedIn.id, from: `old-${signedIn.email}`, to: signedIn.email, at: now });

  await service.database.sql`update applications set allow_sign_up = true where id = ${tenant.id}`;
  for (const email of [`${randomUUID()}@example.com`, user.email]) {
    const unknown = new Wallet();
    const intent = { loginIntentId: await createLoginIntent(service, tenant) };
    const asked = { ...intent, address: unknown.address };
    const { message: text } = await createWalletChallenge(call, page, browser, asked);
    await redeemWalletSignature(call, signIn, browser, { ...intent, signature: unknown.sign(text) });
    const linking = { ...intent, email, link: '1' };
    const sent = await createLoginCode(call, parts, browser, linking);
    await redeemLoginCode(call, parts, browser, { ...linking, code: sent.code });
  }

  await setApplicationLogo(call, { applicationId: tenant.id, theme: 'light' });
  await findLogo(call, { applicationId: tenant.id, theme: 'light', digest: '0'.repeat(64) });
  await findApplicationOfClient(call, tenant.clientId);
  await useIdentities(call, parts, { service, tenant });
  await usePasskeys(call, parts, encryptionKeys, { service, tenant });

  await service.database.sql`update applications set single_sign_on = true where id = ${tenant.id}`;
  await useRememberedSignIns(call, tokens, { service, tenant });
  await useAuthorization(call, await createTenant(service, { openIdConnect: true }));

  const apiKeys = new ApiKeys(call.run);
  await apiKeys.authenticate(tenant.apiKey);
  await apiKeys.saveUses(call.run);
  const { clientId } = tenant;
  const ofTenant = { ...call, application: { id: tenant.id, name: tenant.name, clientId, redirectUris: [] } };
  const pageTokens = new PageTokens(encryptionKeys);
  const settings = { connections: 1, statementTimeoutMs: 60_000, layout: 'distributed' } as const;
  const distributed = new Database(testDatabase.url, settings);
  const runDistributed = withAudit(distributed.within(Number.POSITIVE_INFINITY), { ...BY_USHER, action: 'test', now });
  const { id: ownerOfEvents } = await createTenant(service);
  const ofEvents = { ...ofTenant, application: { ...ofTenant.application, id: ownerOfEvents } };
  await useEventRules({ ...ofEvents, transact: (work) => work(run) });
  await useInvitations(ofTenant, codes.keys, { service, tenant });
  await database.run(selectEnds, { applicationIds: [tenant.id] }, Number.POSITIVE_INFINITY);
  const [feed] = await testDatabase.sql`select application_id as id from feed_positions limit 1`;
  const reader = { ...ofTenant, application: { ...ofTenant.application, id: feed?.id } };
  await readMessages(reader, undefined, { types: ['event.deleted'], size: 10 });
  await useOidc(ofTenant, runDistributed, { service, tenant });
  await useDevices(ofTenant, encryptionKeys);
  await useResources(call, tenant, user.id);
  const closed = await createTenant(service, { singleSignOn: true, openIdConnect: true });
  const ofClosed = { ...ofTenant, application: { ...ofTenant.application, ...closed, singleSignOn: true } };
  await useRestrictedAccess(ofClosed, [call.run, runDistributed], parts, { service, tenant: closed });
  await listOperatorEvents(call, pageTokens, { readerId: randomUUID(), pageSize: 1 });
  const named = new Set([tenant.id]);
  await readNames(call, {
    user: new Set([user.id]),
    application: named,
    key: named,
    webhook: new Set(['wh_0']),
    group: named,
  });
  await listDisabledWebhooks(call, pageTokens, {});
  await readQueueState(ofTenant, 'wh_0');
  await readMigrations(call);
  await listSessions(ofTenant, pageTokens, { userId: user.id });
  const { id: inactive } = await createTestUser(service);
  await deactivateUser(call, { userId: inactive });
  await revokeUserSessions(ofTenant, { userId: inactive });
  const other = await createTenant(service);
  const sharing = { ...ofTenant, application: { ...ofTenant.application, id: other.id, singleSignOn: true } };
  await revokeUserSessions(sharing, { userId: inactive });
  const elsewhere = { ...sharing, application: { ...sharing.application, singleSignOn: false }, run: runDistributed };
  await revokeSession(elsewhere, service.config, { sessionId: randomUUID() });
  await revokeUserSessions(elsewhere, { userId: inactive });
  await removeApplicationUser(elsewhere, { applicationId: other.id, userId: inactive }).catch(() => undefined);
  const keyed = { applicationId: tenant.id, scope: 'test', key: 'key', content: '', now, deadline: 0 };
  const inTurn = { transact: <Result>(_: unknown, work: (given: Run) => Promise<Result>) => work(run) };
  for (let turn = 0; turn < 2; turn++)
    await answerOnce({ cipher, database: inTurn }, keyed, async () => Buffer.from('answer'));
  await endOwnSessions(call, { applicationId: other.id, userId: inactive });
  const sessionId = await beginSession(service, other, await createTestUser(service));
  await revokeSession(sharing, service.config, { sessionId });
  await getUser(call, { email: user.email });
  await listUsers(call, pageTokens, { emailPrefix: user.email });
  await listGrants(ofTenant, pageTokens, { userId: user.id });
  for (const filter of [{ email: user.email }, { walletAddress: user.walletAddress }]) {
    await listUsers(call, pageTokens, filter);
    await listApplicationUsers(ofTenant, pageTokens, filter);
  }
  const filters = { applicationId: tenant.id, resource: user.id, actor: 'admin', action: 'EventService/CreateEvent' };
  for (let set = 0; set < 2 ** Object.keys(filters).length; set++) {
    const chosen = Object.entries(filters).filter((_, index) => set & (2 ** index));
    await listAuditEvents(call, pageTokens, { ...Object.fromEntries(chosen), pageSize: 1 });
  }
  const counts = new HourlyCounts();
  counts.add('sign_ins', now);
  await counts.save(call.run);
  await readHourlyCounts(call);

  const rotation = new AbortController();
  await runKeyRotation(database, new RowCipher([randomBytes(32), ...encryptionKeys]), {
    usedAtStart: await readUsedKeyIds(call.run),
    signal: rotation.signal,
    onStatusChange: (_, status) => status === 'is not in use' && rotation.abort(),
    onError: () => {},
  });
  await deliverAll(database, cipher, await createTenant(service));
  await readBacklog(call.run);
  await readTotals(call);
  await listFailingWebhooks(call);
  await readApplicationVersion(call, { applicationId: tenant.id });
  await readUserVersion(call, { userId: user.id });
  await readGroupVersion(call, { groupId: user.id });
  await getGroupByName(call, 'no-such-group').catch(() => undefined);
  await readWebhookVersion(ofTenant, { webhookId: `wh_${'0'.repeat(32)}` });
  await countDeliveries(ofTenant, { webhookId: '', status: 'pending', since: now });
  const { id: signedInId } = await createTestUser(service);
  const login = { userId: signedInId, loginIntentId: await createLoginIntent(service, tenant) };
  const { authToken } = await completeLogin(call, tokens, login);
  const exchange = { tokens, sessionMaxAgeSeconds: 43_200, subscribed: new Set([tenant.id]) };
  const peer = { ipAddress: '::1', userAgent: '' };
  await exchangeToken({ ...ofTenant, run: runDistributed, now: new Date() }, exchange, peer, { authToken });
  const policy = new AddressPolicy([]);
  const limits = { sessionMaxAgeSeconds: 43_200, webhooksPerApplication: 1_000 };
  const demoParts = {
    authPageUrl,
    cipher,
    hasAccountPage: true,
    hasOidc: true,
    clock: () => new Date(),
    policy,
    ...limits,
  };
  for (const each of [database, distributed]) {
    const config = { ...service.config, dataDir: await createDirectory() };
    const startParts = { ...demoParts, database: each, tokens, url: 'http://localhost:8080' };
    for (let start = 0; start < 2; start++) await makeExampleValues(await openDemo(config, startParts), startParts);
  }
  await distributed.close();
  return explainer.explained;
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '');
}

/** Delivers to slow endpoints that answer with status 410, one of them in order, until both webhooks are inactive. */
async function deliverAll(database: Database, cipher: RowCipher, tenant: Tenant): Promise<void> {
  const { webhooks, events } = clientsOf(service, tenant);
  const { id: ownerId } = await createTestUser(service, { applicationIds: [tenant.id] });
  const since = new Date().toISOString();
  for (const ordered of [true, false]) {
    const { webhook } = await webhooks.createWebhook({
      url: 'https://h.test',
      ownerId,
      ordered,
      eventTypes: ['session.created', 'event.created'],
    });
    const webhookId = webhook?.webhookId ?? '';
    await webhooks.redeliverFailed({ webhookId, since });
    await webhooks.listDeliveries({ webhookId });
  }
  const gone = { statusCode: 410, error: 'Gone', responseBody: 'Gone', retryAfter: undefined };
  const worker = new DeliveryWorker({
    cipher,
    clock: () => new Date(),
    logger: createLogger('silent'),
    outcomes: { pending: 0, succeeded: 0, failed: 0 },
    run: database.eachWithin(60_000),
    // As long as it takes to extend a lease.
    sender: { send: () => sleep(4_500, gone) },
    schedule: [0, 1],
    userAgent: 'test',
    concurrency: 4,
  });
  const stop = new AbortController();
  const ended = worker.run(stop.signal, 5_000);
  await beginSession(service, tenant, await createTestUser(service));
  await events.createEvent({ eventId: 'delivered' });
  const active = () => service.database.sql`
    select from webhooks where application_id = ${tenant.id} and url = 'https://h.test' and is_active`;
  while ((await active()).length > 0) await sleep(20);
  stop.abort();
  await ended;
}
