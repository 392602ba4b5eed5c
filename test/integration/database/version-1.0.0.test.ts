/** This version on the database of version 1.0.0: every version carries its data over. */
import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, test } from 'vitest';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { WebhookReceiver } from '../../../src/testing/webhook-receiver.ts';
import { SECOND } from '../../support/clock.ts';
import { cloneDatabase, type TestDatabase } from '../../support/database.ts';
import { LoginBrowser } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { createRsaJwk } from '../../support/oidc.ts';
import { refresh } from '../../support/oidc-client.ts';
import { sendPasskey } from '../../support/passkey-page.ts';
import { adminClient, clientsOf, PUBLIC_URL } from '../../support/service.ts';
import { runSmokeTest } from '../../support/smoke-test.ts';
import {
  ADA,
  configOfRelease,
  createReleasedDatabase,
  DEACTIVATED_USER_ID,
  ENDED_SESSION_ID,
  GRACE,
  openPasskeyOfAda,
  SHOP,
  WRITTEN_AT,
} from '../../support/version-1.0.0.ts';

test('the migrations keep every row, and make its tables those of a new database', async () => {
  await using database = await createReleasedDatabase();
  const before = await readRows(database);
  await Promise.all([1, 2, 3].map(() => migrateDatabase(database.url)));
  const after = await readRows(database);
  for (const [table, rows] of before) {
    // Migrations since then have added columns.
    const kept = rows.map((row) => expect.objectContaining(row));
    expect(after.get(table), table).toEqual(expect.arrayContaining(kept));
  }
  await using fresh = await cloneDatabase();
  expect(await describeSchema(database)).toEqual(await describeSchema(fresh));
  const readJournal = ({ sql }: TestDatabase) => sql`select hash, created_at from usher_migrations order by created_at`;
  expect([...(await readJournal(database))]).toEqual([...(await readJournal(fresh))]);
});

describe('the service on it', async () => {
  const database = await createReleasedDatabase();
  const fixture = await LoginFixture.open({
    database,
    // Nothing of the dump has expired yet.
    start: new Date(WRITTEN_AT.getTime() + SECOND),
    like: configOfRelease(database.url),
    oidcSigningKeys: [createRsaJwk()],
    config: { loginMethods: ['wallet', 'email', 'passkey'] },
  });
  const { service, mailbox } = fixture;
  const { auth, sessions, webhooks, events, users } = clientsOf(service, SHOP);
  const admin = adminClient(service);
  afterAll(async () => {
    await fixture.close();
    await database[Symbol.asyncDispose]();
  });

  /** Returns the user who has signed in. */
  async function userOf(location = ''): Promise<string | undefined> {
    const authToken = new URL(location).searchParams.get('authToken') ?? '';
    return (await auth.exchangeToken({ authToken })).user?.id;
  }

  test('knows its sessions, those that were revoked too', async () => {
    expect(await sessions.checkSession({ sessionId: ADA.sessionId })).toMatchObject({ active: true });
    expect(await sessions.checkSession({ sessionId: ENDED_SESSION_ID })).toMatchObject({ active: false });
    expect((await sessions.renewSession({ sessionId: ADA.sessionId })).session).toMatchObject({ id: ADA.sessionId });
  });

  test('lists its users, events, check-ins and audit log', async () => {
    const { users: listed } = await users.listUsers({});
    expect(listed.map(({ id }) => id)).toContain(ADA.id);
    expect((await admin.getUser({ userId: DEACTIVATED_USER_ID })).user).toHaveProperty('deactivatedAt');
    expect((await events.listEvents({})).events).toMatchObject([{ eventId: SHOP.eventId }]);
    expect((await events.listCheckIns({ eventId: SHOP.eventId })).checkIns).toMatchObject([{ attendeeId: 'ada' }]);
    const { auditEvents } = await admin.listAuditEvents({ applicationId: SHOP.id });
    expect(auditEvents.map(({ action }) => action)).toContain('EventService/CreateEvent');
    expect((await admin.listUserIdentities({ userId: ADA.id })).identities).toMatchObject([{ provider: 'acme' }]);
  });

  test('delivers a message that its webhook had not got, signed with its key', async () => {
    await using receiver = await WebhookReceiver.open();
    const { webhookId, signingKey } = SHOP;
    expect((await webhooks.listWebhooks({})).webhooks).toMatchObject([{ webhookId, eventTypes: ['*'] }]);
    expect((await webhooks.getWebhook({ webhookId })).webhook).toMatchObject({ signingKey, eventTypes: ['*'] });
    const config = { webhookDelivery: true, webhookAllowedNetworks: ['127.0.0.0/8'] };
    await using replica = await fixture.startReplica(config);
    await clientsOf(replica, SHOP).webhooks.updateWebhook({ webhookId, url: `${receiver.url}/hook` });
    await expect.poll(() => receiver.at('/hook').map(({ json }) => json.type)).toContain('check_in.created');
    for (const { id, headers, body } of receiver.messages) {
      const sentAt = new Date(Number(headers['webhook-timestamp']) * SECOND);
      expect(headers['webhook-signature']).toContain(new Webhook(signingKey).sign(id, sentAt, body));
    }
  });

  test('signs a user in by a code, and by the sign-in that the browser remembers', async () => {
    const asked = await fixture.askForCode({
      of: SHOP,
      user: { ...ADA, name: '', profileImage: '', walletAddress: '' },
    });
    expect(await userOf((await asked.enter(mailbox.codeFor(ADA.email))).location)).toBe(ADA.id);
    const browser = new LoginBrowser(service);
    browser.cookie = ADA.cookie;
    const { page } = await fixture.arrive({ of: SHOP, browser });
    expect(page.heading).toBe('Welcome back');
    expect(await userOf((await browser.submit(page, '/login/continue')).location)).toBe(ADA.id);
  });

  test('signs a user in by a passkey where nothing else is enough', async () => {
    await admin.updateApplication({ applicationId: SHOP.id, loginMethods: ['passkey'] });
    const arrived = await fixture.arrive({ of: SHOP });
    expect(await userOf((await sendPasskey(arrived, openPasskeyOfAda(), PUBLIC_URL)).location)).toBe(ADA.id);
    const updateMask = { paths: ['login_methods'] };
    await admin.updateApplication({ applicationId: SHOP.id, loginMethods: [], updateMask });
  });

  test('completes a login that has begun before', async () => {
    const browser = new LoginBrowser(service);
    browser.cookie = GRACE.cookie;
    // The form of the page that the browser shows.
    const reply = await browser.post('/login/code', GRACE.form);
    expect((await users.getUser({ userId: (await userOf(reply.location)) ?? '' })).user).toMatchObject({
      email: 'grace@example.com',
    });
  });

  test('refreshes its tokens of OpenID Connect', async () => {
    expect(await refresh(service, SHOP, ADA.refreshToken)).toMatchObject({ status: 200 });
  });

  test('serves everything else', () => runSmokeTest(service));
});

/** Returns the rows of every table, as JSON, without the ones of jobs. */
async function readRows({ sql }: TestDatabase): Promise<ReadonlyMap<string, readonly object[]>> {
  const tables =
    await sql`select relname as name from pg_class where relkind = 'r' and relnamespace = 'usher'::regnamespace`;
  const read = async (name: string) =>
    (await sql`select to_jsonb(each) as row from ${sql(name)} as each`).map(({ row }) => row);
  return new Map(await Promise.all(tables.map(async ({ name }) => [name, await read(name)] as const)));
}

/** Returns columns, constraints, indexes and settings of all tables, without the order of columns. */
async function describeSchema({ sql }: TestDatabase) {
  const parts = await sql`
    with tables as (
      select oid, relname, reloptions from pg_class where relkind = 'r' and relnamespace = 'usher'::regnamespace
    )
    select relname as "table", format('%s: %s', relname, reloptions) as part from tables
    union all
    select relname, format('%s: %s, not null %s, default %s, identity %s, statistics %s', attname,
      format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attidentity, attstattarget)
    from tables join pg_attribute on attrelid = tables.oid and attnum > 0 and not attisdropped
    left join pg_attrdef on adrelid = attrelid and adnum = attnum
    union all
    select relname, format('%s: %s', conname, pg_get_constraintdef(pg_constraint.oid))
    from tables join pg_constraint on conrelid = tables.oid where contype <> 'n'
    union all
    select relname, format('%s, statistics %s', pg_get_indexdef(indexrelid), (
      select string_agg(format('%s', attstattarget), ' ' order by attnum) from pg_attribute where attrelid = indexrelid))
    from tables join pg_index on indrelid = tables.oid
    order by 1, 2`;
  return parts.map(({ table, part }) => `${table} ${part}`);
}
