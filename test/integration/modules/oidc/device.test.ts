/** Devices without a browser (RFC 8628). Races on two replicas: test/robustness/device-login.test.ts. */
import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import { allowDevice, denyDevice } from '../../../../src/modules/oidc/domain/devices/decide-device-login.ts';
import { findDeviceLogin } from '../../../../src/modules/oidc/domain/devices/find-device-login.ts';
import { deriveTokenKeys } from '../../../../src/modules/oidc/domain/tokens/token-keys.ts';
import { MINUTE, SECOND } from '../../../support/clock.ts';
import { LAYOUT } from '../../../support/database.ts';
import {
  beginDevice,
  type Device,
  decide,
  enterUserCode,
  pathIn,
  poll,
  requestDeviceCode,
  signInForDevice,
} from '../../../support/device-client.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';
import { LoginBrowser } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { basicOf, getUserinfo, post, refresh } from '../../../support/oidc-client.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  type Tenant,
} from '../../../support/service.ts';

const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()] });
const { service, clock } = fixture;
const database = new Database(service.database.url, { connections: 1, layout: LAYOUT, statementTimeoutMs: 60_000 });
afterAll(async () => {
  await database.close();
  await fixture.close();
});
const admin = adminClient(service);
const tokenKeys = deriveTokenKeys(service.config.secrets.encryptionKeys ?? []);
const create = (fields: Parameters<typeof createTenant>[1] = {}) =>
  createTenant(service, { name: 'Shop CLI', openIdConnect: true, deviceLogin: true, ...fields });
const [shop, other] = [await create(), await create()];

const errorOf = async (reply: Promise<{ status: number; body: Readonly<Record<string, string>> }>) => {
  const { status, body } = await reply;
  return `${status} ${body.error}`;
};
const ask = (device: Device, of: Tenant = shop) => poll(service, of, device);

/** Begins a device, and signs a person in behind its page. */
async function signIn(of: Tenant = shop, by: Parameters<typeof signInForDevice>[3] = {}) {
  const device = await beginDevice(service, of);
  return { device, ...(await signInForDevice(fixture, of, device, by)) };
}

async function signOut(browser: LoginBrowser): Promise<void> {
  const page = await browser.submit(await browser.open('/oidc/logout'), '/oidc/logout');
  expect(page.heading).toBe('You are signed out');
}

describe('the device', () => {
  it('gets both codes, and where to enter the one', async () => {
    const { status, body, headers } = await requestDeviceCode(service, shop);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        device_code: expect.stringMatching(/^udc_[\w-]{43}$/),
        user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
        verification_uri: `${PUBLIC_URL}/device`,
        verification_uri_complete: `${PUBLIC_URL}/device?user_code=${body.user_code}`,
        expires_in: 600,
        interval: 5,
      },
    });
    expect(headers['cache-control']).toBe('no-store');
  });

  it('gets tokens of the person who lets it in, once', async () => {
    const { device, user, ...at } = await signIn();
    expect(await errorOf(ask(device))).toBe('400 authorization_pending');
    expect((await decide(at, 'allow')).heading).toBe('You can go back to the device');
    const { status, body } = await ask(device);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body).toMatchObject({ token_type: 'Bearer', scope: 'openid email' });
    expect(decodeJwt(body.id_token ?? '')).toMatchObject({ sub: user.id, aud: shop.clientId, email: user.email });
    expect(await getUserinfo(service, body.access_token)).toMatchObject({ body: { sub: user.id } });
    expect(await refresh(service, shop, body.refresh_token)).toMatchObject({ status: 200 });
    expect(await errorOf(ask(device))).toBe('400 invalid_grant');
    const { auditEvents } = await admin.listAuditEvents({ resource: user.id });
    expect(auditEvents.map(({ action }) => action)).toContain('POST /device/approve');
  });

  it('needs no secret if its application has none, and its refresh tokens rotate', async () => {
    const of = await create({ publicClient: true });
    const device = await beginDevice(service, of, { isPublic: true });
    await decide(await signInForDevice(fixture, of, device), 'allow');
    const { status, body } = await poll(service, of, device, { isPublic: true });
    expect(status).toBe(200);
    const next = await refresh(service, of, body.refresh_token, { isPublic: true });
    expect(next.body.refresh_token).not.toBe(body.refresh_token);
  });

  it('waits five seconds longer each time it did not wait, but for a second', async () => {
    const device = await beginDevice(service, shop);
    expect(await errorOf(ask(device))).toBe('400 authorization_pending');
    clock.advance(4 * SECOND - 1);
    expect(await errorOf(ask(device))).toBe('400 slow_down');
    clock.advance(9 * SECOND - 1);
    expect(await errorOf(ask(device))).toBe('400 slow_down');
    clock.advance(14 * SECOND);
    expect(await errorOf(ask(device))).toBe('400 authorization_pending');
    clock.advance(14 * SECOND - 1);
    expect(await errorOf(ask(device))).toBe('400 slow_down');
  });

  it('may ask by a ticker, whose questions take longer one time than another', async () => {
    const device = await beginDevice(service, shop);
    for (const delayMs of [40, 5, 900, 0, 120, 3]) {
      clock.advance(delayMs);
      expect(await errorOf(ask(device))).toBe('400 authorization_pending');
      clock.advance(5 * SECOND - delayMs);
    }
  });

  it('learns that the person has denied it, before or after the login', async () => {
    const { device, ...at } = await signIn();
    expect((await decide(at, 'deny')).heading).toBe('The device stays signed out');
    expect(await errorOf(ask(device))).toBe('400 access_denied');
    const second = await beginDevice(service, shop);
    const browser = new LoginBrowser(service);
    const page = await enterUserCode(browser, second.userCode);
    expect((await browser.submit(page, '/device/request')).heading).toBe('The device stays signed out');
    expect(await errorOf(ask(second))).toBe('400 access_denied');
  });

  it('has ten minutes', async () => {
    const { device, ...at } = await signIn();
    await decide(at, 'allow');
    const undecided = await beginDevice(service, shop);
    clock.advance(10 * MINUTE - 1);
    expect(await errorOf(ask(undecided))).toBe('400 authorization_pending');
    clock.advance(1);
    await service.database.sql`
      update usher.login_intents set expires_at = ${clock.read()} where user_id = ${at.user.id}`;
    expect(await errorOf(ask(device))).toBe('400 expired_token');
    expect(await errorOf(ask(undecided))).toBe('400 expired_token');
    // The audit log has no redemption.
    const [login] = await service.database.sql`
      select redeemed_at from usher.login_intents where user_id = ${at.user.id}`;
    expect(login?.redeemed_at).toBe(null);
    expect((await at.browser.open(at.approvePath)).heading).toBe('You can go back to the device');
  });

  it('gets nothing for the code of another application, one of nobody, or an authorization code', async () => {
    const { device, ...at } = await signIn();
    await decide(at, 'allow');
    expect(await errorOf(ask(device, other))).toBe('400 invalid_grant');
    expect(await errorOf(ask({ ...device, deviceCode: `udc_${'A'.repeat(43)}` }))).toBe('400 invalid_grant');
    expect(await errorOf(ask({ ...device, deviceCode: device.userCode }))).toBe('400 invalid_grant');
    const code = new URLSearchParams(at.approvePath.split('?')[1]).get('code') ?? '';
    const fields = { grant_type: 'authorization_code', code, redirect_uri: `${PUBLIC_URL}/device` };
    expect(await errorOf(post(service, '/oidc/token', fields, basicOf(shop)))).toBe('400 invalid_grant');
    expect(await ask(device)).toMatchObject({ status: 200 });
  });

  it('can demand more of the sign-in than its application', async () => {
    const { userCode } = await beginDevice(service, shop, { more: { acr_values: '1 phr' } });
    const path = pathIn(await enterUserCode(new LoginBrowser(service), userCode));
    const loginIntentId = new URLSearchParams(path.split('?')[1]).get('intent') ?? '';
    const { id: userId } = await createTestUser(service);
    await expect(admin.completeLogin({ loginIntentId, userId })).rejects.toMatchObject({
      rawMessage: 'Assurance not met',
    });
  });

  it('gets nothing if its application demands more than it did at the sign-in', async () => {
    const of = await create();
    const [early, late] = [await signIn(of), await signIn(of)];
    await decide(early, 'allow');
    await decide(late, 'allow');
    expect(await ask(early.device, of)).toMatchObject({ status: 200 });
    await admin.updateApplication({ applicationId: of.id, requiredAssurance: 'TWO_FACTORS' });
    // Which does not know yet what the application demanded before. A second question finds the code redeemed.
    await using replica = await fixture.startReplica();
    expect(await errorOf(poll(replica, of, late.device))).toBe('400 invalid_grant');
  });

  it.each([
    ['as much as it demands', 2, 'TWO_FACTORS'],
    ['one factor, which an older version does not store', null, 'ANY'],
  ])('gets tokens if the sign-in has shown %s', async (_, assurance, requiredAssurance) => {
    const of = await create();
    const { device, ...at } = await signIn(of);
    await decide(at, 'allow');
    await service.database.sql`update usher.login_intents set assurance = ${assurance} where user_id = ${at.user.id}`;
    await admin.updateApplication({ applicationId: of.id, requiredAssurance });
    await using replica = await fixture.startReplica();
    expect(await poll(replica, of, device)).toMatchObject({ status: 200 });
  });

  it('gets nothing unless its application lets devices in', async () => {
    const of = await create({ deviceLogin: false });
    expect(await errorOf(requestDeviceCode(service, of))).toBe('400 unauthorized_client');
    const device = await beginDevice(service, shop);
    expect(await errorOf(ask(device, of))).toBe('400 unauthorized_client');
  });

  it('gets nothing if the person was signed out everywhere, or may no longer enter', async () => {
    const revoked = await signIn();
    await decide(revoked, 'allow');
    await clientsOf(service, shop).sessions.revokeUserSessions({ userId: revoked.user.id });
    expect(await errorOf(ask(revoked.device))).toBe('400 invalid_grant');
    const of = await create();
    const refused = await signIn(of);
    await decide(refused, 'allow');
    await admin.updateApplication({ applicationId: of.id, restrictAccess: true });
    await using replica = await fixture.startReplica();
    expect(await errorOf(poll(replica, of, refused.device))).toBe('400 invalid_grant');
  });

  it('stays signed in when the person signs out in the browser', async () => {
    const of = await create({ singleSignOn: true });
    const { device, ...at } = await signIn(of);
    await decide(at, 'allow');
    const { body } = await ask(device, of);
    await signOut(at.browser);
    expect(await refresh(service, of, body.refresh_token)).toMatchObject({ status: 200 });
  });
});

describe('a device for a resource', () => {
  async function open() {
    const [cli, api] = [await create(), await create({ name: 'Orders' })];
    const resource = `https://${cli.clientId}.app.test/`;
    const resourceScopes = [{ name: 'orders:read', description: 'See orders' }];
    const listed = { resourceUri: resource, resourceScopes, machineClientIds: [cli.clientId] };
    await admin.updateApplication({ applicationId: api.id, ...listed });
    return { cli, api, resource, more: { resource } };
  }

  it('gets tokens for it, by the name of the client, and so does nobody else', async () => {
    const { cli, api, resource, more } = await open();
    const device = await beginDevice(service, cli, { scope: 'openid orders:read unknown', more });
    const { user, asked, ...at } = await signInForDevice(fixture, api, device);
    expect([asked.heading, at.page.heading]).toEqual(Array(2).fill(expect.stringContaining('Shop CLI')));
    await decide(at, 'allow');
    // The resource has devices of its own, which are none of the client.
    for (const [of, options] of [
      [cli, {}],
      [api, {}],
      [other, { more }],
    ] as const)
      expect((await poll(service, of, device, options)).status, of.name).toBe(400);
    const { status, body } = await poll(service, cli, device, { more });
    expect([status, body.scope]).toEqual([200, 'openid orders:read']);
    const token = { token: body.access_token ?? '' };
    expect((await post(service, '/oidc/introspect', token, basicOf(api))).body).toMatchObject({
      ...{ active: true, aud: resource, client_id: cli.clientId, sub: user.id, scope: 'openid orders:read' },
    });
    expect((await post(service, '/oidc/introspect', token, basicOf(cli))).body.active).toBe(false);
    expect((await refresh(service, cli, body.refresh_token)).body.scope).toBe('openid orders:read');
    const own = await beginDevice(service, api);
    expect(await errorOf(poll(service, cli, own, { more }))).toBe('400 invalid_grant');
  });

  it('asks without a scope for all that the resource has, or for openid, and not for unknown ones alone', async () => {
    const { cli, api, more } = await open();
    for (const [of, options, scope] of [
      [api, { more }, 'orders:read'],
      [cli, {}, 'openid'],
    ] as const) {
      const device = await beginDevice(service, cli, { scope: '', ...options });
      const { asked: _, ...at } = await signInForDevice(fixture, of, device);
      await decide(at, 'allow');
      expect((await poll(service, cli, device, options)).body.scope).toBe(scope);
      for (const unknown of ['mcp:tools', 'OpenID Email', 'openid,email'])
        expect(await errorOf(requestDeviceCode(service, cli, { scope: unknown, ...options }))).toBe(
          '400 invalid_scope',
        );
    }
  });

  it.each([
    ['its client', 'TWO_FACTORS', 'ANY'],
    ['the resource', 'ANY', 'TWO_FACTORS'],
  ])('demands what %s demands of a sign-in', async (_, ofClient, ofResource) => {
    const { cli, api, more } = await open();
    const floors = { [cli.id]: ofClient, [api.id]: ofResource };
    for (const [applicationId, floor] of Object.entries(floors))
      if (floor !== 'ANY') await admin.updateApplication({ applicationId, requiredAssurance: floor });
    await using replica = await fixture.startReplica();
    const device = await beginDevice(replica, cli, { scope: 'openid', more });
    const path = pathIn(await enterUserCode(new LoginBrowser(service), device.userCode));
    const loginIntentId = new URLSearchParams(path.split('?')[1]).get('intent') ?? '';
    const { id: userId } = await createTestUser(service);
    await expect(admin.completeLogin({ loginIntentId, userId })).rejects.toThrow('Assurance not met');
  });

  it('must be listed, and have a client that lets devices in', async () => {
    const { cli, more } = await open();
    expect(await errorOf(requestDeviceCode(service, other, { more }))).toBe('400 invalid_target');
    expect(await errorOf(requestDeviceCode(service, cli, { more: { resource: 'https://none.test/' } }))).toBe(
      '400 invalid_target',
    );
    await admin.updateApplication({ applicationId: cli.id, deviceLogin: false });
    await using replica = await fixture.startReplica();
    expect(await errorOf(requestDeviceCode(replica, cli, { more }))).toBe('400 unauthorized_client');
  });
});

describe('an application', () => {
  it('may have 1,000 devices that wait, beside those that do not, and other logins', async () => {
    const of = await create();
    const { sql } = service.database;
    const now = clock.read();
    const inMs = (ms: number) => new Date(now.getTime() + ms);
    const waiting = { user_code_digest: Buffer.of(0), approved: null, redeemed_at: null, expires_at: inMs(1) };
    const insertLogins = async (count: number, columns: object) => {
      const fields = { application_id: of.id, redirect_uri: '', state: '', response_mode: 'device', created_at: now };
      const rows = Array.from({ length: count }, () => ({ ...fields, ...waiting, ...columns, id: randomUUID() }));
      await sql`insert into usher.login_intents ${sql(rows as never)}`;
    };
    await insertLogins(900, {});
    await insertLogins(98, { approved: true });
    for (const ended of [
      { expires_at: now },
      { approved: false },
      { approved: true, redeemed_at: now },
      { user_code_digest: null },
    ])
      await insertLogins(2, ended);
    await beginDevice(service, of);
    const device = await beginDevice(service, of);
    const { status, headers, body } = await requestDeviceCode(service, of);
    expect({ status, headers, error: body.error }).toMatchObject({
      status: 429,
      headers: { 'retry-after': '60' },
      error: 'temporarily_unavailable',
    });
    await beginDevice(service, shop);
    const browser = new LoginBrowser(service);
    await browser.submit(await enterUserCode(browser, device.userCode), '/device/request');
    await beginDevice(service, of);
  });
});

describe('the page', () => {
  it.each([
    ['as it is shown', (code: string) => code],
    ['in lower case, with spaces', (code: string) => ` ${code.toLowerCase().replace('-', ' ')} `],
    ['without a hyphen', (code: string) => code.replace('-', '')],
    [
      'in wide letters',
      (code: string) => code.replace(/[A-Z]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0)),
    ],
  ])('takes the code %s', async (_how, type) => {
    const { userCode } = await beginDevice(service, shop);
    const page = await enterUserCode(new LoginBrowser(service), type(userCode));
    expect(page.heading).toBe('Shop CLI wants to sign in a device');
  });

  it('says who has started it, when, and from where', async () => {
    const device = await beginDevice(service, shop, { address: '203.0.113.7' });
    clock.advance(40 * SECOND);
    const here = await enterUserCode(new LoginBrowser(service, { address: '203.0.113.7' }), device.userCode);
    expect(here.body.replace(/<\/?bdi>/g, '')).toContain(
      'It was started 40 seconds ago from 203.0.113.0, which is your network.',
    );
    clock.advance(80 * SECOND);
    const elsewhere = await enterUserCode(new LoginBrowser(service, { address: '203.0.113.8' }), device.userCode);
    expect(elsewhere.body.replace(/<\/?bdi>/g, '')).toContain(
      'It was started 2 minutes ago from 203.0.113.0. That is not your network.',
    );
  });

  it('fills in the code of the link, and needs a button nevertheless', async () => {
    const { userCode } = await beginDevice(service, shop);
    const page = await new LoginBrowser(service).open(`/device?user_code=${userCode}`);
    expect(page).toMatchObject({ heading: 'Sign in a device', alert: '' });
    expect(page.forms[0]?.fields.user_code).toBe(userCode);
  });

  it('needs a button also after a sign-in that the browser remembers', async () => {
    const of = await create({ singleSignOn: true });
    const first = await signIn(of);
    await decide(first, 'allow');
    const { browser } = first;
    const device = await beginDevice(service, of);
    const offer = await browser.open(pathIn(await enterUserCode(browser, device.userCode)));
    const answer = await browser.submit(offer, '/login/continue');
    expect(await errorOf(ask(device, of))).toBe('400 authorization_pending');
    const page = await browser.open(pathIn(answer));
    expect(page.heading).toBe('Let the device sign in to Shop CLI?');
    expect(page.body.replace(/<\/?bdi>/g, '')).toContain(`You are signed in as ${first.user.email}.`);
    await decide({ browser, page }, 'allow');
    expect(await ask(device, of)).toMatchObject({ status: 200 });
  });

  it('lets a person decide once', async () => {
    const { device, ...at } = await signIn();
    await decide(at, 'deny');
    expect((await decide(at, 'allow')).heading).toBe('The device stays signed out');
    expect(await errorOf(ask(device))).toBe('400 access_denied');
  });

  it('takes a decision from the browser alone that has signed in, and from its own form', async () => {
    const { device, browser, approvePath, page } = await signIn();
    const stranger = new LoginBrowser(service);
    expect((await stranger.open(approvePath)).status).toBe(409);
    const fields = { ...page.forms[0]?.fields, token: (await stranger.open('/device')).forms[0]?.fields.token ?? '' };
    expect((await stranger.post('/device/approve', fields)).status).toBe(409);
    expect((await browser.post('/device/approve', fields)).status).toBe(403);
    const request = (await enterUserCode(browser, device.userCode)).forms[0]?.fields.request ?? '';
    expect((await browser.post('/device/approve', { ...page.forms[0]?.fields, code: request })).status).toBe(404);
    expect(await errorOf(ask(device))).toBe('400 authorization_pending');
  });

  it.each([
    ['allow', 'deny'],
    ['deny', 'allow'],
  ] as const)('stores the first of two decisions at once: to %s, not to %s', async (first, second) => {
    const { device, user, ...at } = await signIn();
    const [{ id } = { id: '' }] = await service.database.sql<{ id: string }[]>`
      select id from usher.login_intents where user_id = ${user.id}`;
    const audit = { ...BY_USHER, action: 'test', now: clock.read() };
    const call = { run: withAudit(database.within(Number.POSITIVE_INFINITY), audit), now: clock.read() };
    const login = await findDeviceLogin(call, id);
    if (!login?.completedAt) throw new Error('The person has not signed in');
    await decide(at, first);
    const of = { ...login, completedAt: login.completedAt, userId: user.id };
    await (second === 'allow' ? allowDevice(call, tokenKeys, of) : denyDevice(call, of));
    expect((await ask(device)).status).toBe(first === 'allow' ? 200 : 400);
  });

  it('lets nobody in once the sign-in has ended while the answer is on its way, and stores no notice', async () => {
    const { device, ...at } = await signIn();
    clock.advance(1);
    const lock = await holdLock(service.database, 'lock table usher.login_intents in exclusive mode');
    const answer = decide(at, 'allow');
    await waitForLockOf(service.database, answer);
    await admin.endUserSessions({ userId: at.user.id });
    await lock.release();
    await answer;
    expect(await errorOf(ask(device))).toBe('400 authorization_pending');
    expect(await service.database.sql`select from usher.notices where user_id = ${at.user.id}`).toEqual([]);
  });

  it('is gone with its application', async () => {
    const of = await create();
    const { browser, approvePath, ...at } = await signIn(of);
    await admin.deleteApplication({ applicationId: of.id });
    expect((await browser.open(approvePath)).status).toBe(404);
    expect((await decide({ browser, ...at }, 'allow')).status).toBe(404);
  });

  it('lets nobody in by the page before the login', async () => {
    const device = await beginDevice(service, shop);
    const browser = new LoginBrowser(service);
    const page = await enterUserCode(browser, device.userCode);
    const { fields } = page.forms[0] ?? { fields: {} };
    expect((await browser.post('/device/request', { ...fields, decision: 'allow' })).heading).toBe(
      'The device stays signed out',
    );
  });

  it('asks no more once the person has signed out', async () => {
    const of = await create({ singleSignOn: true });
    const { device, approvePath, ...at } = await signIn(of);
    await signOut(at.browser);
    expect((await at.browser.open(approvePath)).status).toBe(409);
    expect((await decide(at, 'allow')).status).toBe(409);
    expect(await errorOf(ask(device, of))).toBe('400 authorization_pending');
  });

  it('is where Cancel on the login page leads', async () => {
    const { userCode } = await beginDevice(service, shop);
    const browser = new LoginBrowser(service);
    const login = await browser.open(pathIn(await enterUserCode(browser, userCode)));
    const canceled = await browser.submit(login, '/login/cancel');
    expect((await browser.open(pathIn(canceled))).heading).toBe('Shop CLI wants to sign in a device');
  });

  it('asks also after a login on another page than that of Usher', async () => {
    const device = await beginDevice(service, shop);
    const browser = new LoginBrowser(service);
    const path = pathIn(await enterUserCode(browser, device.userCode));
    const loginIntentId = new URLSearchParams(path.split('?')[1]).get('intent') ?? '';
    const user = await createTestUser(service);
    const { redirectUrl } = await admin.completeLogin({ loginIntentId, userId: user.id });
    const page = await browser.open(pathIn({ location: redirectUrl, body: '' }));
    await decide({ browser, page }, 'allow');
    expect(await ask(device)).toMatchObject({ status: 200 });
  });

  it('refuses the login of a person whom nobody has let in', async () => {
    const of = await create({ restrictAccess: true });
    const device = await beginDevice(service, of);
    const browser = new LoginBrowser(service);
    const path = pathIn(await enterUserCode(browser, device.userCode));
    const loginIntentId = new URLSearchParams(path.split('?')[1]).get('intent') ?? '';
    const { submit } = await fixture.readyByEmail({
      of,
      browser,
      login: { loginIntentId, path, origin: '', state: '' },
    });
    expect((await submit()).location).toBeUndefined();
    expect(await fixture.isCompleted(loginIntentId)).toBe(false);
  });
});

describe('wrong codes', () => {
  it('are ten per network, and then one every six minutes', async () => {
    const { userCode } = await beginDevice(service, shop);
    const wrong = userCode === 'BBBB-BBBB' ? 'BBBB-BBBC' : 'BBBB-BBBB';
    const address = '203.0.113.77';
    const browser = new LoginBrowser(service, { address });
    for (let count = 1; count <= 10; count++) {
      expect((await enterUserCode(browser, wrong)).alert).toContain('There is no such code');
      // What is no code is no guess, and the right one takes no permit.
      expect((await enterUserCode(browser, 'AEIO-UUUU')).alert).toContain('There is no such code');
      if (count < 10) expect((await enterUserCode(browser, userCode)).heading).toContain('Shop CLI');
    }
    for (const code of [wrong, userCode]) {
      expect(await enterUserCode(browser, code)).toMatchObject({ status: 429, heading: 'Too many wrong codes' });
    }
    expect((await enterUserCode(new LoginBrowser(service), userCode)).heading).toContain('Shop CLI');
    clock.advance(6 * MINUTE);
    expect((await enterUserCode(new LoginBrowser(service, { address }), wrong)).status).toBe(200);
    expect((await enterUserCode(new LoginBrowser(service, { address }), wrong)).status).toBe(429);
  });

  it('are those of logins that have ended, or are decided, too, and one that two devices have', async () => {
    const expired = await beginDevice(service, shop);
    clock.advance(10 * MINUTE);
    const denied = await beginDevice(service, shop);
    const browser = new LoginBrowser(service);
    await browser.submit(await enterUserCode(browser, denied.userCode), '/device/request');
    const allowed = await signIn();
    await decide(allowed, 'allow');
    const [one, another] = [await beginDevice(service, shop), await beginDevice(service, shop)];
    expect((await enterUserCode(browser, one.userCode)).heading).toBe('Shop CLI wants to sign in a device');
    await service.database.sql`
      update usher.login_intents set user_code_digest = (
        select user_code_digest from usher.login_intents where user_code_digest is not null and created_at = ${clock.read()}
        order by id limit 1)
      where user_code_digest is not null and approved is null and created_at = ${clock.read()}`;
    for (const { userCode } of [expired, denied, allowed.device, one, another]) {
      expect((await enterUserCode(browser, userCode)).alert).toContain('There is no such code');
    }
  });
});
