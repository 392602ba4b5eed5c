import { getTableName } from 'drizzle-orm';
import { afterAll, describe, expect, test } from 'vitest';
import { JOURNAL } from '../../../src/database/migrate/journal.ts';
import { TABLES } from '../../../src/database/schema/tables.ts';
import { cloneDatabase } from '../../support/database.ts';

/** Unique across all applications, each for a reason. */
const GLOBAL_KEYS = {
  // Applications are the tenants; a client ID names one of them.
  applications_pkey: 'id',
  applications_client_id_key: 'client_id',
  // Clients name a resource by its URI alone.
  applications_resource_uri_key: "rtrim(resource_uri, '/'::text)",
  // A user may log in to any application.
  users_pkey: 'id',
  users_email_key: 'lower(email)',
  users_folded_email_key: 'lower(email COLLATE "C")',
  users_external_id_key: 'external_id',
  users_wallet_address_key: 'lower(wallet_address)',
  // Ends the user's sessions in every application.
  unfinished_changes_pkey: 'id',
  user_cutoffs_pkey: 'user_id',
  // A browser may have signed in to any application.
  browser_cutoffs_user_id_browser_digest_pk: 'user_id',
  // Not of an application: which migrations have been applied.
  usher_migrations_pkey: 'id',
  // Attempts are limited before it is known for which application.
  rate_limits_pkey: 'key',
  recovery_links_digest_key: 'digest',
  recovery_links_open_key: 'user_id',
  recovery_links_pkey: 'id',
  // A browser is known whichever application it has signed in to.
  known_origins_pkey: 'key',
  // A passkey, and an account at another provider, belong to their user, in whichever application.
  user_identities_issuer_subject_pk: 'issuer',
  passkeys_credential_id_pk: 'credential_id',
  // Users are in groups, whichever applications see them.
  groups_pkey: 'id',
  groups_name_key: 'name',
  group_members_group_id_user_id_pk: 'group_id',
  // An address is muted whichever application a stranger uses.
  muted_addresses_pkey: 'key',
  // Of no application: counts of everything, and how far the expiry job has come.
  hourly_counts_hour_name_pk: 'hour',
  expiry_marks_pkey: 'name',
  // The one file that was applied last.
  declared_files_pkey: 'id',
  // Of version 1.0.0.
  audit_outbox_id_application_id_pk: 'id',
  // A browser continues its sign-in in any application that shares sign-ins.
  remembered_sign_ins_pkey: 'token_digest',
  totp_secrets_pkey: 'user_id',
  recovery_codes_user_id_digest_pk: 'user_id',
};

const TABLES_WITHOUT_APPLICATION = [
  'applications',
  'browser_cutoffs',
  'declared_files',
  'expiry_marks',
  'group_members',
  'groups',
  'hourly_counts',
  'known_origins',
  'muted_addresses',
  'passkeys',
  'rate_limits',
  'recovery_codes',
  'recovery_links',
  'remembered_sign_ins',
  'totp_secrets',
  'unfinished_changes',
  'user_cutoffs',
  'user_identities',
  'users',
];

/** Columns of text that hold nothing of a person, or only what an application has chosen. */
const IMPERSONAL = [
  /^api_keys\.(name|use)$/,
  /^applications\./,
  /^application_logos\./,
  // A digest.
  /^declared_files\.digest$/,
  /^audit_(events|outbox)\.(actor|actor_type|action|request_id|resource)$/,
  /^(check_ins|events|scans)\./,
  /^attendees\.(event_id|attendee_id)$/,
  /^(expiry_marks|hourly_counts)\.name$/,
  // Chosen by operators.
  /^groups\./,
  // A digest.
  /^idempotency_keys\.id$/,
  /^login_intents\.(locale|method|nonce|prompt|redirect_uri|response_mode|state)$/,
  /^notices\.(kind|language)$/,
  /^passkeys\.(rp_id|transports)$/,
  /^recovery_links\.(removes|status)$/,
  /^(held_sign_ins|oidc_grants|remembered_sign_ins|sessions)\.method$/,
  // Of a list that operators have chosen.
  /^(consents|login_intents|oidc_grants)\.scope_names$/,
  /^webhook_(queues|signing_keys)\./,
  /^webhook_(attempts|deliveries)\.(webhook_id|status|error|last_error)$/,
  /^(feed_positions\.type|webhook_messages\.(type|fanned_out_to))$/,
  /^webhooks\./,
  /^unfinished_changes\.kind$/,
  /^usher_migrations\./,
];

const database = await cloneDatabase();

afterAll(async () => {
  await database[Symbol.asyncDispose]();
});

describe('the tables', () => {
  test('have primary and unique keys that begin with the application, except those listed here', async () => {
    const keys = await database.sql`
      select relname as key, pg_get_indexdef(indexrelid, 1, true) as first_column
      from pg_index join pg_class on pg_class.oid = indexrelid
      where indisunique and relnamespace = 'usher'::regnamespace`;
    const others = keys.filter(({ first_column }) => first_column !== 'application_id');
    expect(Object.fromEntries(others.map(({ key, first_column }) => [key, first_column]))).toEqual(GLOBAL_KEYS);
    expect(keys.length).toBeGreaterThan(others.length);
  });

  test('all have a primary key', async () => {
    const without = await database.sql`
      select relname from pg_class
      where relkind = 'r' and relnamespace = 'usher'::regnamespace
        and not exists (select from pg_index where indrelid = pg_class.oid and indisprimary)`;
    expect(without).toEqual([]);
  });

  test('have an application in every row, except those listed here', async () => {
    const tables = await database.sql`
      select relname, attnotnull from pg_class
      left join pg_attribute on attrelid = pg_class.oid and attname = 'application_id'
      where relkind = 'r' and relnamespace = 'usher'::regnamespace and relname <> ${JOURNAL} order by relname`;
    expect(tables.filter(({ attnotnull }) => !attnotnull).map(({ relname }) => relname)).toEqual(
      TABLES_WITHOUT_APPLICATION,
    );
  });

  test('all have their facts beside their columns, once', async () => {
    const tables = await database.sql`
      select relname from pg_class
      where relkind = 'r' and relnamespace = 'usher'::regnamespace and relname <> ${JOURNAL} order by relname`;
    expect(TABLES.map(({ table }) => getTableName(table)).sort()).toEqual(tables.map(({ relname }) => relname));
  });

  test('are distributed by a column of the primary key', async () => {
    const keys = await database.sql`
      select conrelid::regclass::text as table, attname as column from pg_constraint
      join pg_attribute on attrelid = conrelid and attnum = any(conkey)
      where contype = 'p' and connamespace = 'usher'::regnamespace`;
    const known = new Set(keys.map(({ table, column }) => `${table}.${column}`.replace('usher.', '')));
    const others = TABLES.filter(({ table, distributedBy }) => {
      return distributedBy && !known.has(`${getTableName(table)}.${distributedBy.name}`);
    });
    const foreign = TABLES.filter(({ table, distributedBy }) => distributedBy && distributedBy.table !== table);
    expect([...others, ...foreign].map(({ table }) => getTableName(table))).toEqual([]);
  });

  test('have an index for every foreign key, with its columns first', async () => {
    const unindexed = await database.sql`
      select conname from pg_constraint
      where contype = 'f' and connamespace = 'usher'::regnamespace and not exists (
        select from pg_index
        where indrelid = conrelid and indpred is null and indisvalid
          and (indkey::int2[])[0:cardinality(conkey) - 1] @> conkey
      )`;
    expect(unindexed).toEqual([]);
    const [all] = await database.sql`
      select count(*)::int as count from pg_constraint where contype = 'f' and connamespace = 'usher'::regnamespace`;
    expect(all?.count).toBeGreaterThan(0);
  });

  test('refer to a row of a tenant only together with the application', async () => {
    const crossing = await database.sql`
      select conname from pg_constraint
      where contype = 'f' and connamespace = 'usher'::regnamespace
        and exists (select from pg_attribute where attrelid = confrelid and attname = 'application_id')
        and not exists (
          select from unnest(conkey, confkey) as pair(own, foreign_key)
          join pg_attribute own_column on own_column.attrelid = conrelid and own_column.attnum = own
          join pg_attribute their_column on their_column.attrelid = confrelid and their_column.attnum = foreign_key
          where own_column.attname = 'application_id' and their_column.attname = 'application_id'
        )`;
    expect(crossing).toEqual([]);
  });

  test('have no index that another one covers', async () => {
    const needless = await database.sql`
      select small.indexrelid::regclass as index from pg_index small
      join pg_class on pg_class.oid = small.indrelid and relnamespace = 'usher'::regnamespace
      join pg_index large on large.indrelid = small.indrelid and large.indexrelid <> small.indexrelid
      where not small.indisunique and small.indpred is null and large.indpred is null and small.indexprs is null
        and (large.indkey::int2[])[0:small.indnkeyatts - 1] = (small.indkey::int2[])[0:small.indnkeyatts - 1]`;
    expect(needless).toEqual([]);
  });

  test('store instants in whole milliseconds with a time zone', async () => {
    const types = await database.sql`
      select distinct format_type(atttypid, atttypmod) as type from pg_attribute
      join pg_class on pg_class.oid = attrelid and relkind = 'r' and relnamespace = 'usher'::regnamespace
      where attname like '%\\_at' and relname <> ${JOURNAL}`;
    expect(types).toEqual([{ type: 'timestamp(3) with time zone' }]);
  });
});

test('Postgres keeps no samples of personal data in its statistics', async () => {
  const { sql } = database;
  const columns = await sql<{ name: string; target: number | null }[]>`
    select table_name.relname || '.' || attname as name, nullif(attstattarget, -1)::int as target
    from pg_attribute inner join pg_class table_name on table_name.oid = attrelid
    where relnamespace = 'usher'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
      and atttypid::regtype::text ~ '^(text|jsonb?)'`;
  type Sampled = (typeof columns)[number];
  const isPersonalSample = ({ name, target }: Sampled) => target !== 0 && !IMPERSONAL.some((each) => each.test(name));
  expect(columns.filter(isPersonalSample)).toEqual([]);

  const expressions = await sql<Sampled[]>`
    select table_name.relname || '.' || index_name.relname as name, nullif(attstattarget, -1)::int as target
    from pg_index inner join pg_class index_name on index_name.oid = indexrelid
    inner join pg_class table_name on table_name.oid = indrelid
    inner join pg_attribute on attrelid = indexrelid
    where table_name.relnamespace = 'usher'::regnamespace and indexprs is not null and indkey[attnum - 1] = 0
      and pg_get_indexdef(indexrelid) ~ '(email|wallet_address|name)'`;
  expect(expressions.length).toBeGreaterThan(0);
  expect(expressions.filter(isPersonalSample)).toEqual([]);
});
