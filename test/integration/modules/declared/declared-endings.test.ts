/** Clients of OpenID Connect that one file configures, and what a change of the file ends, on two replicas. */
import { hash } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { deriveApplicationId } from '../../../../src/modules/declared/parse-applications-file.ts';
import { newDeclaredKey, openDeclaredFixture } from '../../../support/declared-fixture.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import {
  basicOf,
  createOidcTenant,
  getUserinfo,
  post,
  redeem,
  refresh,
  signInForCode,
} from '../../../support/oidc-client.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTestUser,
  logIn,
  REDIRECT_URI,
  startTestService,
} from '../../../support/service.ts';

const service = await startTestService({ oidcSigningKeys: [createRsaJwk()], config: { webhookDelivery: false } });
const replica = await startTestService({ database: service.database, like: service.config });
const declared = openDeclaredFixture(service.database);
afterAll(async () => {
  await declared[Symbol.asyncDispose]();
  await replica.close();
  await service.close();
});
const admin = adminClient(service);
const WITHIN = { timeout: 60_000, interval: 250 };
const GROUPS = [{ name: 'editors' }, { name: 'readers' }];
let count = 0;

type Entry = Readonly<Record<string, unknown>>;

/** Declares a client like Grafana, and signs a user of the group `editors` in to it. */
async function declareClient(fields: Entry = {}) {
  const clientId = `client-${count++}`;
  const { apiKey, key } = newDeclaredKey('first');
  const entry: Entry = {
    clientId,
    name: 'Client',
    openIdConnect: true,
    deviceLogin: true,
    messageFeed: true,
    restrictAccess: true,
    redirectUris: [REDIRECT_URI],
    keys: [key],
    access: [{ group: 'editors', allowsAccess: true }],
    ...fields,
  };
  const apply = (changes: Entry) =>
    declared.apply(JSON.stringify({ groups: GROUPS, applications: [{ ...entry, ...changes }] }));
  await apply({});
  const tenant = { id: deriveApplicationId(clientId), name: 'Client', clientId, apiKey, apiKeyId: '' };
  const { groups } = await admin.listGroups({});
  const groupId = groups.find(({ name }) => name === 'editors')?.groupId ?? '';
  const user = await createTestUser(service);
  await admin.addGroupMember({ groupId, userId: user.id });
  return { apply, tenant, user, groupId, key };
}

test('a client that a file has configured signs people in, and its key opens the endpoints', async () => {
  const { tenant, user } = await declareClient();
  const { body, status } = await redeem(replica, tenant, await signInForCode(service, tenant, user));
  expect(status).toBe(200);
  expect(await getUserinfo(replica, body.access_token)).toMatchObject({ status: 200, body: { sub: user.id } });
  await declared.apply('{}');
});

const NARROWED: Readonly<Record<string, readonly [change: Entry, before?: Entry]>> = {
  'the group leaves access': [{ access: [] }],
  'the group is only seen': [{ access: [{ group: 'editors', inClaim: true }] }],
  'another group has access': [{ access: [{ group: 'readers', allowsAccess: true }] }],
  'the application becomes restricted': [{ restrictAccess: true }, { restrictAccess: false, access: [] }],
};

describe('access that is narrowed', () => {
  test.each(Object.entries(NARROWED))('%s: ends sessions, tokens and codes', async (_, [change, before = {}]) => {
    const { apply, tenant, user } = await declareClient(before);
    const stays = await createTestUser(service);
    await admin.addApplicationUser({ applicationId: tenant.id, userId: stays.id });
    const [session, kept] = [await beginSession(service, tenant, user), await beginSession(service, tenant, stays)];
    const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user));
    const code = await signInForCode(service, tenant, user);
    await apply({ ...before, ...change });
    for (const at of [service, replica]) {
      const { sessions } = clientsOf(at, tenant);
      const isActive = async (sessionId: string) =>
        (await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;
      expect([await isActive(session), await isActive(kept)]).toEqual([false, true]);
      expect((await refresh(at, tenant, body.refresh_token)).status).toBe(400);
      expect((await redeem(at, tenant, code)).status).toBe(400);
      await expect.poll(async () => (await getUserinfo(at, body.access_token)).status, WITHIN).toBe(401);
    }
    await expect(logIn(service, tenant, user)).rejects.toThrow('Access not allowed');
    expect(await logIn(service, tenant, stays)).toBeTruthy();
  });

  test('restrictAccess counts, in the plan, those who lose it', async () => {
    const { apply, tenant, user } = await declareClient({ restrictAccess: false, access: [] });
    await beginSession(service, tenant, user);
    const text = JSON.stringify({
      groups: GROUPS,
      applications: [{ clientId: tenant.clientId, name: 'Client', redirectUris: [REDIRECT_URI], restrictAccess: true }],
    });
    expect(await declared.plan(text)).toContain('restrictAccess false → true');
    expect(await declared.plan(text)).toContain(' (1 person loses access)\n');
    await apply({ restrictAccess: true, access: [{ group: 'editors', allowsAccess: true }] });
    expect(await logIn(service, tenant, user)).toBeTruthy();
  });
});

test.each<[string, Entry[]]>([
  ['leaves', []],
  ['expires', [{ expiresAt: '2001-01-01T00:00:00Z' }]],
])('a key that %s ends on both replicas, with tokens of its machine', async (_, ended) => {
  const resource = `https://api-${count}.test/`;
  const { apply, tenant, key } = await declareClient({
    resourceUri: resource,
    resourceScopes: [{ name: 'read', description: 'Read' }],
    machineClientIds: [`client-${count}`],
  });
  const { body } = await post(service, '/oidc/token', { grant_type: 'client_credentials', resource }, basicOf(tenant));
  const introspect = async (at: { url: string }, apiKey: string) =>
    (await post(at, '/oidc/introspect', { token: body.access_token ?? '' }, basicOf({ ...tenant, apiKey }))).body;
  const second = newDeclaredKey('second');
  await apply({ keys: [key, second.key] });
  expect(await introspect(replica, second.apiKey)).toMatchObject({ active: true });
  await apply({ keys: [...ended.map((change) => ({ ...key, ...change })), second.key] });
  for (const at of [service, replica]) {
    const isKnown = () =>
      clientsOf(at, tenant)
        .users.listUsers({})
        .then(
          () => true,
          () => false,
        );
    await expect.poll(isKnown, WITHIN).toBe(false);
    await expect.poll(() => introspect(at, second.apiKey), WITHIN).toMatchObject({ active: false });
  }
});

test('a digest of something that has not the form of a key opens nothing', async () => {
  const weak = 'correct horse battery staple';
  const { tenant } = await declareClient({ keys: [{ name: 'weak', sha256: hash('sha256', weak, 'hex') }] });
  await expect(clientsOf(service, { apiKey: weak }).users.listUsers({})).rejects.toThrow('Invalid API key');
  const { status } = await post(service, '/oidc/token', {}, basicOf({ ...tenant, apiKey: weak }));
  expect(status).toBe(401);
});

test('an application in use that the file adopts and changes keeps what is signed in', async () => {
  const tenant = await createOidcTenant(service);
  const { id: applicationId } = tenant;
  await admin.updateApplication({ applicationId, restrictAccess: true, messageFeed: true });
  const user = await createTestUser(service, { applicationIds: [applicationId] });
  const session = await beginSession(service, tenant, user);
  const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user));
  const [code, authToken] = [await signInForCode(service, tenant, user), await logIn(service, tenant, user)];
  const loginIntentId = await createLoginIntent(service, tenant);
  // The job still finishes what other tests have ended.
  const readCutoffs = () => service.database.sql`select * from session_cutoffs where application_id = ${applicationId}`;
  const cutoffs = await readCutoffs();
  const { groups, applications } = JSON.parse(await declared.export());
  const isAdopted = ({ id }: { id?: string }) => id === applicationId;
  const changed = applications.map((entry: Entry) => (isAdopted(entry) ? { ...entry, name: 'Adopted' } : entry));
  await declared.apply(JSON.stringify({ groups, applications: changed }));
  const { application } = await admin.getApplication({ applicationId });
  expect(application).toMatchObject({ id: applicationId, name: 'Adopted', managedByFile: true });
  expect(await readCutoffs()).toEqual(cutoffs);
  for (const at of [service, replica]) {
    const { sessions } = clientsOf(at, tenant);
    expect((await sessions.checkSession({ sessionId: session, maxStalenessMs: 0 })).active).toBe(true);
    expect((await getUserinfo(at, body.access_token)).status).toBe(200);
  }
  expect((await clientsOf(replica, tenant).sessions.renewSession({ sessionId: session })).session).toBeTruthy();
  expect((await refresh(replica, tenant, body.refresh_token)).status).toBe(200);
  expect((await redeem(replica, tenant, code)).status).toBe(200);
  expect((await clientsOf(replica, tenant).auth.exchangeToken({ authToken })).session).toBeTruthy();
  expect((await admin.completeLogin({ loginIntentId, userId: user.id })).authToken).not.toBe('');
});

test('a sign-in between the statements of a file and its commit ends with the access', async () => {
  const { apply, tenant, user } = await declareClient();
  await using lock = await holdLock(service.database, 'select from usher.declared_files for update');
  const applying = apply({ access: [] });
  await waitForLockOf(service.database, applying);
  const late = await beginSession(service, tenant, user);
  const { body } = await redeem(service, tenant, await signInForCode(service, tenant, user));
  await lock.release();
  await applying;
  for (const at of [service, replica]) {
    const { sessions } = clientsOf(at, tenant);
    expect((await sessions.checkSession({ sessionId: late, maxStalenessMs: 0 })).active).toBe(false);
    expect((await refresh(at, tenant, body.refresh_token)).status).toBe(400);
  }
});

describe('a redirect URI that leaves', () => {
  const CHANGERS: Readonly<Record<string, (client: Awaited<ReturnType<typeof declareClient>>) => Promise<unknown>>> = {
    'the file': ({ apply }) => apply({ redirectUris: ['https://other.test/'] }),
    UpdateApplication: async ({ tenant }) => {
      await declared.apply('{"applications":[  ]}');
      await admin.updateApplication({ applicationId: tenant.id, redirectUris: ['https://other.test/'] });
    },
  };

  test.each(Object.entries(CHANGERS))('by %s: no login that has begun with it is completed', async (_, change) => {
    const client = await declareClient();
    const { tenant, user } = client;
    const [plain, ofClient] = [await createLoginIntent(service, tenant), await createLoginIntent(service, tenant)];
    await service.database.sql`
      update login_intents set response_mode = 'query', scope = 1 where id = ${ofClient}`;
    await change(client);
    for (const [at, loginIntentId] of [
      [service, plain],
      [replica, ofClient],
    ] as const) {
      const completed = adminClient(at).completeLogin({ loginIntentId, userId: user.id });
      await expect(completed).rejects.toThrow('Login intent expired');
    }
    for (const at of [service, replica])
      await expect.poll(() => createLoginIntent(at, tenant).catch(String), WITHIN).toContain('Invalid redirect URI');
  });
});

describe('as after UpdateApplication', () => {
  /** What the database has about an application, without what differs between two of them. */
  async function readEnds(id: string) {
    const { sql } = service.database;
    return [
      await sql`select id like 'feed_%' as is_feed, url, is_active from webhooks where application_id = ${id} order by 1`,
      await sql`select is_active from message_feeds where application_id = ${id}`,
      await sql`select user_id, cutoff_at = 'infinity' as is_open from session_cutoffs where application_id = ${id}`,
      await sql`select kind, step from unfinished_changes where subject_id = ${id}`,
      await sql`select open_id_connect, device_login, message_feed, redirect_uris, deleted_at is not null as is_deleted
        from applications where id = ${id}`,
    ];
  }

  const CHANGES: Readonly<Record<string, Record<string, unknown>>> = {
    openIdConnect: { openIdConnect: false },
    deviceLogin: { deviceLogin: false },
    messageFeed: { messageFeed: false },
    redirectUris: { redirectUris: ['https://other.test/'] },
    backchannelLogoutUri: { backchannelLogoutUri: 'https://app.test/out' },
  };

  test.each(Object.entries(CHANGES))('%s leaves the same', async (_, change) => {
    const file = await declareClient({ restrictAccess: false });
    const rpc = await declareClient({ restrictAccess: false });
    await declared.apply('{"applications":[]}');
    await admin.updateApplication({ applicationId: rpc.tenant.id, ...change });
    await file.apply(change);
    expect(await readEnds(file.tenant.id)).toEqual(await readEnds(rpc.tenant.id));
  });

  test('and DeleteApplication', async () => {
    const [file, rpc] = [await declareClient(), await declareClient()];
    const session = await beginSession(service, file.tenant, file.user);
    await declared.apply('{"applications":[ ]}');
    await admin.deleteApplication({ applicationId: rpc.tenant.id });
    await file.apply({ deleted: true });
    expect(await readEnds(file.tenant.id)).toEqual(await readEnds(rpc.tenant.id));
    const call = clientsOf(replica, file.tenant).sessions.checkSession({ sessionId: session, maxStalenessMs: 0 });
    await expect(call).rejects.toThrow();
  });
});
