/** The command that distributes a database, empty and with rows in every table. Needs CITUS_URL. */
import { randomUUID } from 'node:crypto';
import { getTableName } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { MessageService } from '../../../gen/usher/v1/message_pb.ts';
import { migrateDatabase } from '../../../src/database/migrate/migrate.ts';
import { TABLES } from '../../../src/database/schema/tables.ts';
import { createCitusDatabase } from '../../support/citus-database.ts';
import { type ClientServers, MCP_SERVER, startClientServers } from '../../support/client-metadata.ts';
import type { TestDatabase } from '../../support/database.ts';
import { fileOf, GRAFANA, newDeclaredKey, openDeclaredFixture } from '../../support/declared-fixture.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { LoginBrowser } from '../../support/login-browser.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { beginOidcLogin, CODE_VERIFIER, createRsaJwk, parametersOf } from '../../support/oidc.ts';
import { basicOf, post } from '../../support/oidc-client.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { SoftwarePasskey } from '../../support/passkey.ts';
import { call, mainProtocolOf, REST } from '../../support/protocols.ts';
import { restrict } from '../../support/restricted-access.ts';
import { runCommand } from '../../support/run-command.ts';
import { credentialFor, sampleFields } from '../../support/samples.ts';
import { createPersonWithApp, reachStep, takeStep } from '../../support/second-factor.ts';
import {
  ADMIN_KEY,
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestEvent,
  createTestGroup,
  PUBLIC_URL,
  type TestService,
} from '../../support/service.ts';
import { runSmokeTest } from '../../support/smoke-test.ts';
import { lacks } from '../../support/tools.ts';

const distribute = ({ url }: TestDatabase) => runCommand('distribute', { DATABASE_URL: url });

describe.skipIf(lacks('CITUS'))('on Citus', () => {
  test('the command distributes a database that was never migrated, says how, and does nothing the second time', async () => {
    await using database = await createCitusDatabase();
    const first = await distribute(database);
    expect(first).toMatchObject({ exitCode: 0, stderr: '' });
    expect(first.stdout).toContain('users: a copy on every server\n');
    expect(first.stdout).toContain('sessions: distributed by application_id\n');
    expect(await distribute(database)).toEqual({
      exitCode: 0,
      stdout: 'No migration is pending\nEvery table is distributed already\n',
      stderr: '',
    });
  });

  test('a database in use keeps every row, and goes on with all of them', async () => {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await createCitusDatabase());
    await migrateDatabase(database.url);
    const clients = stack.use(await startClientServers());
    const acme = stack.use(await FakeProvider.start());
    const config = {
      ...clients.config,
      webhookDelivery: true,
      loginProviders: [acme.settings()],
      loginProviderIds: undefined,
    };
    const fixture = await LoginFixture.open({ database, config, oidcSigningKeys: [createRsaJwk()] });
    const around = { fixture, clients, provider: acme.settings().id };
    const goOn = await use(around).finally(fixture.close);
    const rows = await readRows(database);
    const empty = [...rows].filter(([name, { length }]) => length === 0 && !MAY_BE_EMPTY.includes(name));
    expect(empty).toEqual([]);

    expect(await distribute(database)).toMatchObject({ exitCode: 0, stderr: '' });
    const distributed = await readRows(database);
    for (const [name, were] of rows) expect(distributed.get(name), name).toEqual(were);

    const service = stack.use(await fixture.startReplica(config));
    for (const continueWith of goOn) await continueWith(service);
    await runSmokeTest(service);
  });
});

/** They have rows for moments, or after few calls. */
const MAY_BE_EMPTY = ['audit_outbox', 'browser_cutoffs', 'muted_addresses', 'notices', 'proved_identities'];

const RESOURCE = 'https://mcp.app.test/';
const REDIRECT = 'https://assistant.test/callback';

interface Around {
  readonly fixture: LoginFixture;
  readonly clients: ClientServers;
  readonly provider: string;
}

/** Uses the rows again, and fails where they are not as they were. */
type GoOn = (service: TestService) => Promise<unknown>;

/** Leaves rows in every table. */
async function use(around: Around): Promise<GoOn[]> {
  const { service, tenant } = around.fixture;
  for (const operation of OPERATIONS) {
    const { method } = operation;
    const fields = await sampleFields(method, { service, tenant });
    const headers = { ...credentialFor(operation, tenant), 'idempotency-key': randomUUID() };
    const { code } = await call(mainProtocolOf(method), service.url, method, fields, headers);
    expect(code, method.name).toBe('ok');
  }
  const goOn: GoOn[] = [];
  for (const part of [importUser, letIn, invite, openDoor, feed, allowClient, signIn, holdSignIn, declare])
    goOn.push(await part(around));
  return goOn;
}

async function importUser({ fixture: { service }, provider }: Around): Promise<GoOn> {
  const { name: group } = await createTestGroup(service);
  const publicKey = new SoftwarePasskey().publicKey.toString('base64url');
  const user = {
    email: `${randomUUID()}@example.com`,
    externalId: randomUUID(),
    attributes: { plan: 'pro' },
    groups: [group],
    identities: [{ provider, subject: randomUUID() }],
    passkeys: [{ credentialId: 'AAAA', publicKey, rpId: new URL(PUBLIC_URL).hostname }],
  };
  const headers = { 'x-admin-key': ADMIN_KEY };
  const urlOf = (at: { url: string }) => `${at.url}/admin/users.jsonl`;
  const imported = await fetch(urlOf(service), { method: 'POST', headers, body: JSON.stringify(user) });
  expect(await imported.json()).toMatchObject({ status: 'created' });
  const readLine = async (at: { url: string }) => {
    const exported = await (await fetch(urlOf(at), { headers })).text();
    return exported.split('\n').find((line) => line.includes(user.externalId));
  };
  const line = await readLine(service);
  expect(line).toContain(group);
  return async (later) => expect(await readLine(later)).toBe(line);
}

/** Sessions of a restricted application, each of which lasts until the user's access ends. */
async function letIn({ fixture: { service } }: Around): Promise<GoOn> {
  const closed = await createTenant(service);
  const access = await restrict(service, closed.id);
  const users = { added: await access.createUser('added'), inGroup: await access.createUser('in a group') };
  const sessions = { added: '', inGroup: '' };
  for (const by of ['added', 'inGroup'] as const) sessions[by] = await beginSession(service, closed, users[by]);
  return async (later) => {
    const admin = adminClient(later);
    const isActive = async (sessionId: string) =>
      (await clientsOf(later, closed).sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;
    for (const sessionId of Object.values(sessions)) expect(await isActive(sessionId)).toBe(true);
    await admin.removeApplicationUser({ applicationId: closed.id, userId: users.added.id });
    await admin.removeGroupMember({ groupId: access.groupId, userId: users.inGroup.id });
    for (const sessionId of Object.values(sessions)) expect(await isActive(sessionId)).toBe(false);
  };
}

async function invite({ fixture: { service } }: Around): Promise<GoOn> {
  const tenant = await createTenant(service);
  await adminClient(service).updateApplication({ applicationId: tenant.id, allowInvitations: true });
  const { invitation } = await clientsOf(service, tenant).users.inviteUser({ email: `${randomUUID()}@example.com` });
  return async (later) => {
    const { users } = clientsOf(later, tenant);
    expect((await users.listInvitations({})).invitations).toEqual([invitation]);
    await users.revokeInvitation({ invitationId: invitation?.invitationId ?? '' });
    expect((await users.listInvitations({})).invitations).toEqual([]);
  };
}

/** An event that is half full, with a list and scans. */
async function openDoor({ fixture: { service } }: Around): Promise<GoOn> {
  const tenant = await createTenant(service);
  const { events } = clientsOf(service, tenant);
  const eventId = randomUUID();
  await events.createEvent({ eventId, capacity: 2, admission: 'LISTED' });
  const attendees = ['ada', 'grace', 'emmy'].map((attendeeId) => ({ attendeeId }));
  await events.batchPutAttendees({ eventId, attendees });
  const scanOf = (attendeeId: string) => ({ eventId, scans: [{ scanId: randomUUID(), attendeeId }] });
  const [first, again] = [scanOf('ada'), scanOf('ada')];
  const results = await events.batchCheckIn(first);
  const counts = await events.getEventCounts({ eventId });
  return async (later) => {
    const { events } = clientsOf(later, tenant);
    expect(await events.getEventCounts({ eventId })).toEqual(counts);
    expect(await events.batchCheckIn(first)).toEqual(results);
    const outcomes: string[] = [];
    for (const scan of [again, scanOf('grace'), scanOf('emmy'), scanOf('eve')])
      outcomes.push((await events.batchCheckIn(scan)).results.map(({ reason, outcome }) => reason || outcome).join());
    expect(outcomes).toEqual(['ALREADY_CHECKED_IN', 'CHECKED_IN', 'EVENT_FULL', 'ATTENDEE_NOT_LISTED']);
  };
}

/** A feed, whose positions go on where they were. */
async function feed({ fixture: { service } }: Around): Promise<GoOn> {
  const tenant = await createTenant(service, { messageFeed: true });
  const { listMessages } = MessageService.method;
  const read = async ({ url }: { url: string }, cursor: string) => {
    const answer = await call(REST, url, listMessages, { cursor, pageSize: 100 }, { 'x-api-key': tenant.apiKey });
    return answer.data as unknown as { messages: { messageId: string }[]; cursor: string };
  };
  for (const name of ['first', 'second']) await createTestEvent(service, tenant, name);
  await expect.poll(async () => (await read(service, 'oldest')).messages.length).toBe(2);
  const { messages, cursor } = await read(service, 'oldest');
  return async (later) => {
    expect((await read(later, 'oldest')).messages).toEqual(messages);
    await createTestEvent(later, tenant, 'third');
    await expect.poll(async () => (await read(later, cursor)).messages.length).toBe(1);
    const [third] = (await read(later, cursor)).messages;
    expect((await read(later, 'oldest')).messages).toEqual([...messages, third]);
  };
}

/** A client that nobody has registered, with a person's consent to a resource, and a grant. */
async function allowClient({ fixture, clients }: Around): Promise<GoOn> {
  const { service } = fixture;
  const shop = await createTenant(service, { ...MCP_SERVER, resourceUri: RESOURCE });
  const clientId = clients.add();
  const browser = new LoginBrowser(service);
  const asked = { redirect_uri: REDIRECT, resource: RESOURCE, scope: 'orders:read' };
  const login = await beginOidcLogin(browser, { clientId }, asked);
  const { submit } = await fixture.readyByEmail({ browser, login });
  const consent = new URL((await submit()).location ?? '');
  const page = await browser.open(consent.pathname + consent.search);
  const { location } = await browser.submit(page, '/oidc/consent', { choice: 'allow' });
  const { code = '' } = parametersOf(location);
  const { body } = await post(service, '/oidc/token', {
    ...{ grant_type: 'authorization_code', client_id: clientId, code, redirect_uri: REDIRECT },
    ...{ code_verifier: CODE_VERIFIER, resource: RESOURCE },
  });
  return async (later) => {
    const refresh = { grant_type: 'refresh_token', client_id: clientId, refresh_token: body.refresh_token ?? '' };
    const refreshed = await post(later, '/oidc/token', refresh);
    expect(refreshed).toMatchObject({ status: 200, body: { scope: body.scope } });
    const introspect = { token: refreshed.body.access_token ?? '' };
    expect((await post(later, '/oidc/introspect', introspect, basicOf(shop))).body.active).toBe(true);
  };
}

/** A browser that is remembered, beside a wallet's login that is half-way. */
async function signIn({ fixture }: Around): Promise<GoOn> {
  const { service } = fixture;
  const tenant = await createTenant(service);
  await adminClient(service).updateApplication({ applicationId: tenant.id, singleSignOn: true });
  const { browser, submit } = await fixture.readyByEmail({ of: tenant });
  expect((await submit()).status).toBe(303);
  const wallet = await fixture.readyByWallet();
  return async (later) => {
    expect((await wallet.submit(later)).status).toBe(303);
    const { page } = await fixture.arrive({ at: later, of: tenant, browser: browser.at(later) });
    expect((await browser.at(later).submit(page, '/login/continue')).status).toBe(303);
  };
}

/** A person with an authenticator app, between the two steps of a login. */
async function holdSignIn({ fixture }: Around): Promise<GoOn> {
  const { user, app } = await createPersonWithApp(fixture);
  const { browser, page } = await reachStep(fixture, { user });
  return async (later) => expect((await takeStep(fixture, { browser: browser.at(later), page, app })).status).toBe(303);
}

/** An application of a file. */
async function declare({ fixture: { service } }: Around): Promise<GoOn> {
  const keys = [newDeclaredKey('here').key];
  const exportAll = async ({ database }: TestService) => {
    await using declared = openDeclaredFixture(database);
    return declared.export();
  };
  await using declared = openDeclaredFixture(service.database);
  await declared.apply(fileOf({ ...GRAFANA, keys }));
  const exported = await exportAll(service);
  expect(exported).toContain(GRAFANA.clientId);
  return async (later) => expect(await exportAll(later)).toBe(exported);
}

/** Returns the rows of each table, as texts in order. */
async function readRows({ sql }: TestDatabase): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = new Map<string, readonly string[]>();
  for (const name of TABLES.map(({ table }) => getTableName(table)).toSorted()) {
    const texts = await sql.unsafe(`select read::text as text from ${name} as read`);
    rows.set(name, texts.map(({ text }) => String(text)).toSorted());
  }
  return rows;
}
