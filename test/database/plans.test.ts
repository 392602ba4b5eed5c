import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDemo } from '../../src/demo/demo.ts';
import { ApiKeys } from '../../src/domain/api-keys/api-keys.ts';
import { createApiKey } from '../../src/domain/api-keys/create-api-key.ts';
import { revokeApiKey } from '../../src/domain/api-keys/revoke-api-key.ts';
import { createApplication } from '../../src/domain/applications/create-application.ts';
import { deleteApplication } from '../../src/domain/applications/delete-application.ts';
import { checkIn } from '../../src/domain/events/check-in.ts';
import { createEvent } from '../../src/domain/events/create-event.ts';
import { deleteEvent } from '../../src/domain/events/delete-event.ts';
import { AuthTokens } from '../../src/domain/login/auth-tokens.ts';
import { completeLogin } from '../../src/domain/login/complete-login.ts';
import { createLoginCode } from '../../src/domain/login/create-login-code.ts';
import { createWalletChallenge } from '../../src/domain/login/create-wallet-challenge.ts';
import { createAuthPageLink, generateAuthUrl } from '../../src/domain/login/generate-auth-url.ts';
import { deriveLoginCodeKeys } from '../../src/domain/login/login-code.ts';
import { redeemLoginCode } from '../../src/domain/login/redeem-login-code.ts';
import { redeemWalletSignature } from '../../src/domain/login/redeem-wallet-signature.ts';
import { exchangeToken } from '../../src/domain/sessions/exchange-token.ts';
import { createUser } from '../../src/domain/users/create-user.ts';
import { deleteUser } from '../../src/domain/users/delete-user.ts';
import { createWebhook } from '../../src/domain/webhooks/create-webhook.ts';
import { getWebhook } from '../../src/domain/webhooks/get-webhook.ts';
import { SigningKeyCipher } from '../../src/domain/webhooks/signing-key-cipher.ts';
import { sweep } from '../../src/jobs/expiry.ts';
import { readUsedKeyIds, runKeyRotation } from '../../src/jobs/key-rotation.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { type ExplainedStatement, ExplainingDatabase, readsOf } from '../support/explaining-database.ts';
import { testConfig } from '../support/service.ts';
import { Wallet } from '../support/wallet.ts';

const ROWS = 5_000;
const SWEPT_TABLES = 5;
const BY_INDEX = new Set(['Index Scan', 'Index Only Scan', 'Bitmap Heap Scan', 'Tid Scan']);
const SOURCES = join(import.meta.dirname, '../../src');
/** The most rows of one table that a call reads, and that a batch of housekeeping reads and removes. */
const CALL_ROWS = 5;
const BATCH_ROWS = 100;

let database: TestDatabase;
let statements: readonly ExplainedStatement[];

beforeAll(async () => {
  database = await cloneDatabase();
  await fill(database);
  statements = await explainAllStatements(database.url);
});

afterAll(() => database[Symbol.asyncDispose]());

describe('these tests see every statement', () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ name, text: withoutComments(readFileSync(join(SOURCES, name), 'utf8')) }));

  test('that is prepared', () => {
    // The one of the sidings asks Postgres who waits, and reads no table.
    const ofTables = files.filter(({ name }) => name !== 'db/sidings.ts');
    const prepared = ofTables.flatMap(({ text }) => text.match(/\.prepare\(\s*['"`]/g) ?? []);
    // Housekeeping prepares one statement for each of its tables.
    expect(statements.length).toBe(prepared.length - 1 + SWEPT_TABLES);
  });

  test('and none is sent in another way, but for those of a start', () => {
    const others = files.filter(({ text }) => /\.unsafe\(|\.execute\(\s*sql|\bclient(<.*>)?`/.test(text));
    expect(others.map(({ name }) => name).sort()).toEqual(['db/embedded.ts', 'db/migrate.ts']);
  });
});

describe.each(['force_custom_plan', 'force_generic_plan'] as const)('with %s', (mode) => {
  test('every table is read by an index, or at known places', () => {
    const scans = statements.flatMap(({ sql, plans }) =>
      readsOf(plans[mode])
        .filter((read) => !BY_INDEX.has(read.type))
        .map(({ type, table }) => `${type} on ${table}: ${sql}`),
    );
    expect(scans).toEqual([]);
  });

  test('no more rows are read than needed, however many there are', () => {
    const excesses = statements.flatMap(({ sql, plans }) => {
      const most = sql.includes('skip locked') ? BATCH_ROWS : CALL_ROWS;
      return readsOf(plans[mode])
        .filter(({ rows }) => rows > most)
        .map(({ type, table, rows }) => `${rows} rows, ${type} on ${table}: ${sql}`);
    });
    expect(excesses).toEqual([]);
  });

  test('housekeeping removes a whole batch', () => {
    const swept = statements.filter(({ sql }) => /\bdelete from\b.*\bskip locked\b/s.test(sql));
    const removed = swept.map(({ plans }) => Math.max(...readsOf(plans[mode]).map(({ rows }) => rows)));
    expect(removed).toEqual(Array.from({ length: SWEPT_TABLES }, () => BATCH_ROWS));
  });

  test('a statement that reads all would be seen', async () => {
    await using explaining = new ExplainingDatabase(database.url);
    const plan = await explaining.explain(`select from webhooks where url = $1 or application_id is null`, ['x'], mode);
    expect(readsOf(plan)).toEqual([{ type: 'Seq Scan', table: 'webhooks', rows: ROWS + 2 }]);
  });
});

test('what goes with a row that is removed is found by an index', async () => {
  const unindexed = await database.sql`
    select conname from pg_constraint where contype = 'f' and confdeltype = 'c' and not exists (
      select from pg_index where indrelid = conrelid and (indkey::int2[])[0:cardinality(conkey) - 1] = conkey)`;
  expect(unindexed).toEqual([]);
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '');
}

/** Thousands of rows in every table, a hundred per application, and what Postgres wants to know of them. */
async function fill({ sql }: TestDatabase): Promise<void> {
  await sql.unsafe(`
    insert into applications (id, name, client_id, redirect_uris, created_at)
      select gen_random_uuid(), 'Application ' || n, 'client_' || n, array['https://app.test/callback'], now()
      from generate_series(1, ${ROWS}) n;
    insert into users (id, email, wallet_address, created_at)
      select gen_random_uuid(), n || '@example.com', 'wallet ' || n, now() from generate_series(1, ${ROWS}) n;
    insert into api_keys (application_id, id, digest, created_at)
      select id, gen_random_uuid(), sha256(id::text::bytea), now() from applications;
    create temporary table tenants as select id, row_number() over () - 1 as n from applications limit 50;
    create temporary table people as select id, row_number() over () - 1 as n from users;
    insert into webhooks (application_id, id, url, signing_key, owner_id, created_at, updated_at)
      select tenants.id, 'wh_' || md5(people.n::text), 'https://example.com', '\\x00', people.id, now(), now()
      from people join tenants on tenants.n = people.n % 50;
    insert into events (application_id, id, created_at)
      select tenants.id, 'event-' || people.n, now() from people join tenants on tenants.n = people.n % 50;
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
      select application_id, id, 'attendee', now() from events;
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, created_at, expires_at)
      select tenants.id, people.id, gen_random_uuid(), 'a@b', 'wallet', '::1', '', now(), now() + n.n * interval '1 second'
      from people join tenants on tenants.n = people.n % 50, lateral (select people.n) n;
    insert into login_intents (application_id, id, redirect_uri, state, created_at, expires_at, user_id)
      select tenants.id, gen_random_uuid(), 'https://app.test', 'state', now(), now() + people.n * interval '1 second', people.id
      from people join tenants on tenants.n = people.n % 50;
    insert into login_codes (application_id, login_intent_id, id, browser_digest, code_digest, created_at, expires_at)
      select application_id, id, gen_random_uuid(), '\\x00', '\\x00', created_at, expires_at from login_intents;
    insert into wallet_challenges (application_id, login_intent_id, id, browser_digest, address, message, created_at, expires_at)
      select application_id, id, gen_random_uuid(), '\\x00', '0x00', 'message', created_at, expires_at from login_intents;
    insert into rate_limits (key, instants, last_id, expires_at)
      select sha256(id::text::bytea), array[created_at], id, expires_at from login_intents;
    drop table tenants, people`);
  await sql.unsafe('analyze');
}

/** Each statement once, as its verb sends it. */
async function explainAllStatements(url: string): Promise<readonly ExplainedStatement[]> {
  const { authSigningKeys = [], encryptionKeys = [] } = testConfig(url).secrets;
  const tokens = await AuthTokens.create('https://usher.test', authSigningKeys);
  const cipher = new SigningKeyCipher(encryptionKeys);
  await using recording = new ExplainingDatabase(url);
  const call = { run: recording.within(0), now: new Date() };

  const redirectUri = 'https://app.test/callback';
  const { application, apiKey } = await createApplication(call, { name: 'Application', redirectUris: [redirectUri] });
  const applicationCall = { ...call, application };
  const wallet = new Wallet();
  const user = await createUser(call, { email: 'ada@example.com', walletAddress: wallet.address });
  const other = await createApiKey(call, { applicationId: application.id });
  await new ApiKeys(call.run).authenticate(apiKey, { deadline: performance.now() + 5_000 });
  const login = { clientId: application.clientId, redirectUri, state: 'state' };
  const { loginIntentId } = await generateAuthUrl(
    applicationCall,
    createAuthPageLink('https://usher.test/login'),
    login,
  );
  const { authToken } = await completeLogin(call, tokens, { loginIntentId, userId: user.id });
  await completeLogin(call, tokens, { loginIntentId, userId: user.id }).catch(() => {});

  const browser = { digest: randomBytes(32), address: '::1' };
  const keys = deriveLoginCodeKeys(encryptionKeys);
  const byEmail = await generateAuthUrl(applicationCall, createAuthPageLink('https://usher.test/login'), login);
  const sent = await createLoginCode(call, keys, browser, { ...byEmail, email: user.email });
  await redeemLoginCode(call, { tokens, keys }, browser, { ...byEmail, code: sent?.code });
  const byWallet = await generateAuthUrl(applicationCall, createAuthPageLink('https://usher.test/login'), login);
  const challenge = { ...byWallet, address: wallet.address };
  const { message } = await createWalletChallenge(call, 'https://usher.test/login', browser, challenge);
  await redeemWalletSignature(call, tokens, browser, { ...byWallet, signature: wallet.sign(message) });

  await exchangeToken(applicationCall, tokens, { ipAddress: '::1', userAgent: 'test' }, { authToken });
  const webhook = await createWebhook(applicationCall, cipher, { url: 'https://example.com', ownerId: user.id });
  await getWebhook(applicationCall, cipher, { webhookId: webhook.id });
  const background = new AbortController();
  await runKeyRotation(
    recording,
    new SigningKeyCipher([randomBytes(32), ...encryptionKeys]),
    await readUsedKeyIds(call.run),
    {
      signal: background.signal,
      tell: (_, state) => state === 'is not in use' && background.abort(),
      onError: () => {},
    },
  );
  await createEvent(applicationCall, { eventId: 'event' });
  await checkIn(applicationCall, { eventId: 'event', attendeeId: 'attendee' });
  await deleteEvent(applicationCall, { eventId: 'event' });
  await using directory = await mkdtempDisposable(join(tmpdir(), 'usher-demo-'));
  const authPageUrl = 'https://usher.test/login';
  const demoParts = { directory: directory.path, url: 'http://localhost:8080', authPageUrl, showsCodes: true };
  for (let start = 0; start < 2; start++) await openDemo(call, { ...demoParts, tokens, cipher });
  await recording.ping(performance.now() + 10_000);
  await deleteUser(call, { userId: user.id });
  await revokeApiKey(call, { apiKeyId: other.apiKeyId });
  await deleteApplication(call, { applicationId: application.id });
  // Last, since it leaves tables so empty that Postgres may come to read them whole.
  await sweep(recording, new Date(Date.now() + 2 * 60 * 60_000));
  return [...recording.explained.values()];
}
