import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DrizzleQueryError } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AdminService } from '../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../gen/usher/v1/auth_pb.ts';
import { EventService } from '../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../gen/usher/v1/webhook_pb.ts';
import { createLogger } from '../src/log.ts';
import { type Answer, CALLERS, type Caller } from './support/callers.ts';
import { request } from './support/http.ts';
import { HttpPool } from './support/http-pool.ts';
import { openHttp2Session } from './support/http2-session.ts';
import { holdLock, waitForLockWaiters } from './support/lock.ts';
import { anyRpc, LogLeakProbe, spellingsOf } from './support/log-leak-probe.ts';
import { refuseWrites } from './support/refuse-writes.ts';
import { ADMIN_KEY, createTenant, type TestService } from './support/service.ts';
import { TcpProxy } from './support/tcp-proxy.ts';

const ADMIN = AdminService.method;
const AUTH = AuthService.method;
const WEBHOOKS = WebhookService.method;
const EVENTS = EventService.method;

const probe = new LogLeakProbe();
let service: TestService;
const internal: Answer[] = [];

beforeAll(async () => {
  service = await probe.start();
  const { authSigningKeys, encryptionKeys } = service.config.secrets;
  probe.remember(authSigningKeys?.[0]?.d, encryptionKeys?.[0]?.toString('base64'));
  probe.remember(new URL(service.config.databaseUrl ?? '').password);
  for (const caller of CALLERS) await runScenario(caller, probe);
  await breakTables(service);
  for (const caller of CALLERS) internal.push(...(await runFailingScenario(caller, probe)));
}, 60_000);

afterAll(async () => {
  await service.close();
});

describe('every call, over every protocol,', () => {
  test('has one line that says what it was and how it ended', async () => {
    await expect.poll(() => probe.callLines.length).toBe(probe.expected.length);
    const told = probe.callLines.map(({ requestId, protocol, method, code, application }) => ({
      requestId,
      protocol,
      method,
      code,
      application,
    }));
    const byId = (a: { requestId: unknown }, b: { requestId: unknown }) =>
      String(a.requestId) < String(b.requestId) ? -1 : 1;
    expect(told.sort(byId)).toEqual(probe.expected.toSorted(byId));
  });

  test('has a line with its time and duration, and nothing that is not known here', () => {
    for (const line of probe.callLines) {
      expect(line).toMatchObject({
        level: 30,
        time: expect.any(Number),
        status: expect.any(Number),
        durationMs: expect.any(Number),
      });
      expect(line.durationMs).toBeGreaterThan(0);
      const known = [
        'level',
        'time',
        'requestId',
        'protocol',
        'method',
        'code',
        'status',
        'durationMs',
        'application',
        'msg',
      ];
      expect(Object.keys(line).filter((field) => !known.includes(field))).toEqual([]);
    }
  });

  test('succeeded, failed in all documented ways and failed unexpectedly somewhere in these tests', () => {
    const methods = [ADMIN, AUTH, WEBHOOKS, EVENTS].flatMap((methods) => Object.values(methods));
    const succeeded = new Set(probe.expected.filter(({ code }) => code === 'ok').map(({ method }) => method));
    expect(succeeded.size).toBe(methods.length);
    expect(new Set(probe.expected.map(({ code }) => code))).toEqual(
      new Set([
        'ok',
        'invalid_argument',
        'unauthenticated',
        'not_found',
        'already_exists',
        'failed_precondition',
        'internal',
      ]),
    );
  });
});

describe('the log', () => {
  test('holds no secret and nothing personal, in whatever spelling', () => {
    expect(probe.planted.size).toBeGreaterThan(100);
    expect(probe.leaks).toEqual([]);
  });

  test('holds nothing of a request that cannot be read', async () => {
    const other = new LogLeakProbe();
    await using strict = await other.start();
    const planted = () => encodeURIComponent(other.plant('planted'));
    const { apiKey } = await createTenant(strict);
    const headers = () => ({
      'x-api-key': apiKey,
      'content-type': 'application/json',
      'user-agent': planted(),
      'x-forwarded-for': planted(),
      'x-request-id': `${planted()} is no request ID`,
      'connect-timeout-ms': planted(),
      cookie: planted(),
    });
    const exchange = '/api/oauth/exchange';
    const rpc = '/usher.v1.AuthService/ExchangeToken';
    const requests = [
      { method: 'POST', path: exchange, body: `{"authToken": "${planted()}` },
      { method: 'POST', path: exchange, body: JSON.stringify([planted()]) },
      { method: 'POST', path: exchange, body: JSON.stringify({ authToken: [planted()], [planted()]: planted() }) },
      { method: 'POST', path: exchange, body: planted().repeat(2_000) },
      { method: 'POST', path: rpc, body: `{"authToken": "${planted()}` },
      { method: 'POST', path: rpc, body: JSON.stringify({ authToken: { [planted()]: planted() } }) },
      { method: 'POST', path: rpc, body: planted().repeat(2_000) },
      { method: 'POST', path: `${exchange}?clientId=${planted()}&state=${planted()}`, body: '{}' },
      { method: 'GET', path: `/api/webhooks/${planted()}?${planted()}` },
      { method: 'DELETE', path: `/api/events/${planted()}%ff` },
      { method: 'PATCH', path: `/api/events/${planted()}` },
      { method: 'GET', path: `/api/${planted()}/${planted()}` },
      { method: 'POST', path: `/usher.v1.AuthService/${planted()}`, body: planted() },
      { method: 'POST', path: `/${planted()}` },
    ];
    const replies = await Promise.all(requests.map((each) => request(strict.url, { ...each, headers: headers() })));
    expect(replies.filter(({ status }) => status < 400 || status >= 500)).toEqual([]);
    await expect.poll(() => other.callLines.length).toBeGreaterThan(8);
    expect(other.planted.size).toBeGreaterThan(80);
    expect(other.leaks).toEqual([]);
  });

  test('would show what these tests look for', () => {
    for (const spell of Object.values(spellingsOf('a planted value, long enough: ü?&/'))) {
      const other = new LogLeakProbe();
      other.planted.add('a planted value, long enough: ü?&/');
      createLogger('trace', { write: (line) => void other.lines.push(line) }).info({ x: `<<${spell}>>` }, 'leak');
      expect(other.leaks.length).toBeGreaterThan(0);
    }
  });
});

describe('an unexpected error', () => {
  test('is an internal error to the caller', () => {
    expect(internal.length).toBeGreaterThan(50);
    for (const answer of internal) {
      expect(answer).toEqual({
        code: expect.stringMatching(/^(internal|500)$/),
        message: 'Internal error',
        fields: [],
        data: undefined,
      });
    }
  });

  test('is logged once, with its stack and the request it belongs to', () => {
    const errors = probe.parsed.filter(({ msg }) => msg === 'unexpected error');
    const failed = probe.expected.filter(({ code }) => code === 'internal');
    expect(errors.map(({ requestId }) => requestId).sort()).toEqual(failed.map(({ requestId }) => requestId).sort());
    for (const { level, err, method } of errors) {
      expect({ level, err, method }).toEqual({
        level: 50,
        err: expect.objectContaining({ stack: expect.stringContaining('    at ') }),
        method: expect.stringMatching(/^usher\.v1\./),
      });
    }
  });

  test('of Postgres is told by its code', () => {
    const codes = probe.parsed
      .filter(({ msg }) => msg === 'unexpected error')
      .map(({ err }) => (err as { code?: string }).code);
    expect(codes).toContain('P0001');
  });

  test('of Drizzle shows neither the statement nor its parameters', () => {
    const lines: string[] = [];
    const logger = createLogger('trace', { write: (line) => void lines.push(line) });
    const cause = new Error('the connection broke');
    const error = new DrizzleQueryError('select planted_column', ['planted parameter'], cause);
    logger.error({ err: error }, 'unexpected error');
    logger.error({ err: new Error('outer', { cause: error }) }, 'unexpected error');
    expect(lines).toHaveLength(2);
    expect(lines.join('')).not.toMatch(/planted/);
    expect(lines.join('')).toContain('the connection broke');
  });
});

describe('the line of a call', () => {
  test('says why where the database is unavailable, and shows no password', async () => {
    const other = new LogLeakProbe();
    await using proxy = await TcpProxy.open(service.database.url);
    const url = new URL(proxy.through(service.database.url));
    other.remember(url.password, decodeURIComponent(url.password));
    await using broken = await other.start({
      database: service.database,
      like: service.config,
      config: { databaseUrl: url.href, requestTimeoutMs: 300 },
    });
    using admin = new HttpPool(broken, { 'x-admin-key': ADMIN_KEY, 'x-request-id': 'refused' });
    await proxy.setMode('refuse');
    const deleteUser = () => admin.call('POST', '/usher.v1.AdminService/DeleteUser', { userId: randomUUID() });
    const outcomes = [await deleteUser(), await deleteUser(), await deleteUser()];
    expect(outcomes.map(({ status }) => status)).toEqual([503, 503, 503]);
    await expect.poll(() => other.callLines.length).toBe(3);
    for (const line of other.callLines) {
      expect(line).toMatchObject({ requestId: 'refused', code: 'unavailable', status: 503 });
      expect(line.reason).toMatch(/^(CONNECTION_CLOSED|ECONNRESET|ECONNREFUSED|Every connection has just failed)$/);
    }
    await proxy.setMode('pass');
    expect(other.leaks).toEqual([]);
  });

  test.each([
    ['its HTTP method', 'PUT', 'application/json'],
    ['its type', 'POST', 'text/plain'],
  ])('does not say ok where the call was refused for %s', async (_, method, contentType) => {
    const requestId = randomUUID();
    const reply = await request(service.url, {
      method,
      path: '/usher.v1.WebhookService/GetWebhook',
      headers: { 'content-type': contentType, 'x-request-id': requestId },
      body: '{}',
    });
    expect([405, 415]).toContain(reply.status);
    const codes = () => probe.callLines.filter((line) => line.requestId === requestId).map(({ code }) => code);
    await expect.poll(codes).toHaveLength(1);
    expect(codes()).not.toContain('ok');
  });

  test('does not say ok where the caller has gone', async () => {
    await using quiet = await startQuietService();
    const requestId = randomUUID();
    await using _lock = await holdLock(quiet.service.database, 'lock table users in access exclusive mode');
    const admin = new HttpPool(quiet.service, { 'x-admin-key': ADMIN_KEY, 'x-request-id': requestId });
    const gone = admin.call('POST', '/usher.v1.AdminService/DeleteUser', { userId: randomUUID() }).catch(() => 'gone');
    await waitForLockWaiters(quiet.service.database);
    admin[Symbol.dispose]();
    expect(await gone).toBe('gone');
    await expect.poll(() => quiet.probe.callLines.length).toBe(1);
    expect(quiet.probe.callLines[0]).toMatchObject({ requestId });
    expect(quiet.probe.callLines[0]?.code).not.toBe('ok');
  });
});

describe('the line of a call over HTTP/2', () => {
  test.each([
    ['/api/oauth/exchange', 'application/json'],
    ['/usher.v1.AuthService/ExchangeToken', 'application/json'],
    ['/usher.v1.AuthService/ExchangeToken', 'application/json; charset=utf-8'],
    ['/usher.v1.AuthService/ExchangeToken', 'application/grpc'],
  ])(
    'says that it was canceled where its request is shorter than announced, and so reset: %s, %s',
    async (path, type) => {
      await using quiet = await startQuietService();
      const { apiKey } = await createTenant(quiet.service);
      using session = openHttp2Session(quiet.service.url);
      const requestId = randomUUID();
      const headers = { 'x-api-key': apiKey, 'content-type': type, 'content-length': '5', 'x-request-id': requestId };
      const stream = session.open({ ':method': 'POST', ':path': path, ...headers });
      stream.write('{');
      // Long enough for the call to have begun.
      await sleep(100);
      stream.end();
      const line = () => quiet.probe.callLines.find((line) => line.requestId === requestId);
      await expect.poll(line).toBeDefined();
      expect(line()).toMatchObject({ code: 'canceled' });
    },
  );
});

async function startQuietService() {
  const own = new LogLeakProbe();
  const started = await own.start();
  return { probe: own, service: started, [Symbol.asyncDispose]: () => started.close() };
}

/** Every RPC with success and most of its documented failures, by one caller. */
async function runScenario(caller: Caller, spy: LogLeakProbe): Promise<void> {
  const admin = { headers: { 'x-admin-key': ADMIN_KEY } };
  const redirectUri = `https://app.test/${encodeURIComponent(spy.plant('redirect'))}`;
  spy.remember(redirectUri);
  const created = await spy.call(
    caller,
    ADMIN.createApplication,
    { name: spy.plant('application'), redirectUris: [redirectUri] },
    admin,
  );
  const { application, apiKey } = dataOf<{ application: { id: string; clientId: string }; apiKey: string }>(created);
  const other = dataOf<{ apiKeyId: string; apiKey: string }>(
    await spy.call(caller, ADMIN.createApiKey, { applicationId: application.id }, admin),
  );
  spy.remember(apiKey, apiKey.slice(4, 47), other.apiKey, other.apiKey.slice(4, 47));
  const tenant = { headers: { 'x-api-key': apiKey }, application: application.id };

  const person = {
    email: `${encodeURIComponent(spy.plant('email'))}@example.com`,
    name: spy.plant('name'),
    profileImage: `https://example.com/${encodeURIComponent(spy.plant('image'))}`,
    walletAddress: spy.plant('wallet'),
  };
  spy.remember(person.email, person.profileImage);
  const { user } = dataOf<{ user: { id: string } }>(await spy.call(caller, ADMIN.createUser, person, admin));
  await spy.call(caller, ADMIN.createUser, person, admin);
  await spy.call(caller, ADMIN.createUser, { ...person, email: spy.plant('no-email'), walletAddress: '' }, admin);

  const login = { clientId: application.clientId, redirectUri, state: spy.plant('state') };
  const { loginIntentId } = dataOf<{ loginIntentId: string }>(
    await spy.call(caller, AUTH.generateAuthUrl, login, tenant),
  );
  await spy.call(caller, AUTH.generateAuthUrl, { ...login, clientId: spy.plant('client') }, tenant);
  await spy.call(caller, AUTH.generateAuthUrl, { ...login, redirectUri: spy.plant('unregistered') }, tenant);
  await spy.call(caller, AUTH.generateAuthUrl, { ...login, state: spy.plant('long').repeat(50) }, tenant);
  const completion = { loginIntentId, userId: user.id };
  const { authToken } = dataOf<{ authToken: string }>(await spy.call(caller, ADMIN.completeLogin, completion, admin));
  spy.remember(authToken, ...authToken.split('.').slice(1));
  await spy.call(caller, ADMIN.completeLogin, completion, admin);
  await spy.call(caller, ADMIN.completeLogin, { ...completion, loginIntentId: randomUUID() }, admin);

  const exchanged = dataOf<{ session: { id: string } }>(
    await spy.call(caller, AUTH.exchangeToken, { authToken }, tenant),
  );
  spy.remember(exchanged.session.id);
  await spy.call(caller, AUTH.exchangeToken, { authToken: `${authToken.slice(0, -4)}AAAA` }, tenant);
  await spy.call(caller, AUTH.exchangeToken, { authToken: spy.plant('token') }, tenant);
  await spy.call(caller, AUTH.exchangeToken, { authToken: '' }, tenant);

  const { webhook } = dataOf<{ webhook: { webhookId: string; signingKey: string } }>(
    await spy.call(
      caller,
      WEBHOOKS.createWebhook,
      { url: `https://example.com/${encodeURIComponent(spy.plant('hook'))}`, ownerId: user.id },
      tenant,
    ),
  );
  spy.remember(webhook.signingKey, webhook.signingKey.slice('whsec_'.length));
  await spy.call(caller, WEBHOOKS.createWebhook, { url: spy.plant('no-url'), ownerId: user.id }, tenant);
  await spy.call(caller, WEBHOOKS.getWebhook, { webhookId: webhook.webhookId }, tenant);
  await spy.call(caller, WEBHOOKS.getWebhook, { webhookId: spy.plant('no-webhook') }, tenant);
  await spy.call(caller, WEBHOOKS.getWebhook, { webhookId: `wh_${'0'.repeat(32)}` }, tenant);

  const eventId = spy.plant('event');
  const event = { eventId, name: spy.plant('event-name') };
  await spy.call(caller, EVENTS.createEvent, event, tenant);
  await spy.call(caller, EVENTS.createEvent, event, tenant);
  const attendee = { eventId, attendeeId: spy.plant('attendee') };
  await spy.call(caller, EVENTS.checkIn, attendee, tenant);
  await spy.call(caller, EVENTS.checkIn, attendee, tenant);
  await spy.call(caller, EVENTS.checkIn, { ...attendee, eventId: spy.plant('no-event') }, tenant);
  await spy.call(caller, EVENTS.deleteEvent, { eventId }, tenant);
  await spy.call(caller, EVENTS.deleteEvent, { eventId }, tenant);
  await spy.call(caller, EVENTS.deleteEvent, { eventId: `${spy.plant('control')}\n` }, tenant);

  const mistyped = { headers: { 'x-api-key': `${apiKey.slice(0, -1)}!`, 'user-agent': 'test' } };
  spy.remember(mistyped.headers['x-api-key']);
  await spy.call(caller, WEBHOOKS.getWebhook, { webhookId: webhook.webhookId }, mistyped);
  await spy.call(caller, EVENTS.deleteEvent, { eventId }, { headers: {} });
  const wrongAdmin = { headers: { 'x-admin-key': `${ADMIN_KEY}-planted-suffix` } };
  spy.remember(wrongAdmin.headers['x-admin-key']);
  await spy.call(caller, ADMIN.deleteUser, { userId: user.id }, wrongAdmin);

  await spy.call(caller, ADMIN.revokeApiKey, { apiKeyId: other.apiKeyId }, admin);
  await spy.call(caller, ADMIN.revokeApiKey, { apiKeyId: other.apiKeyId }, admin);
  await spy.call(caller, ADMIN.deleteUser, { userId: user.id }, admin);
  await spy.call(caller, AUTH.exchangeToken, { authToken }, tenant);
  await spy.call(caller, ADMIN.deleteApplication, { applicationId: application.id }, admin);
  await spy.call(caller, WEBHOOKS.getWebhook, { webhookId: webhook.webhookId }, { headers: tenant.headers });
  await spy.call(caller, EVENTS.deleteEvent, { eventId }, { headers: tenant.headers });
}

/** One tenant that the broken tables have from before, and whose every write Postgres refuses. */
const survivor = {
  applicationId: '',
  clientId: '',
  apiKey: '',
  userId: '',
  webhookId: '',
  intentId: '',
  authToken: '',
};
const SURVIVING_REDIRECT_URI = 'https://app.test/callback';

async function breakTables({ database: { sql } }: TestService): Promise<void> {
  const spy = probe;
  const admin = { headers: { 'x-admin-key': ADMIN_KEY } };
  const caller = anyRpc ?? CALLERS[0];
  if (!caller) throw new Error('There is no caller');
  const created = dataOf<{ application: { id: string; clientId: string }; apiKey: string }>(
    await spy.call(
      caller,
      ADMIN.createApplication,
      { name: 'Survivor', redirectUris: [SURVIVING_REDIRECT_URI] },
      admin,
    ),
  );
  const { user } = dataOf<{ user: { id: string } }>(
    await spy.call(
      caller,
      ADMIN.createUser,
      { email: 'survivor@example.com', walletAddress: spy.plant('wallet') },
      admin,
    ),
  );
  const tenant = { headers: { 'x-api-key': created.apiKey }, application: created.application.id };
  const login = {
    clientId: created.application.clientId,
    redirectUri: SURVIVING_REDIRECT_URI,
    state: spy.plant('state'),
  };
  const first = dataOf<{ loginIntentId: string }>(await spy.call(caller, AUTH.generateAuthUrl, login, tenant));
  const second = dataOf<{ loginIntentId: string }>(await spy.call(caller, AUTH.generateAuthUrl, login, tenant));
  const { authToken } = dataOf<{ authToken: string }>(
    await spy.call(caller, ADMIN.completeLogin, { loginIntentId: first.loginIntentId, userId: user.id }, admin),
  );
  const { webhook } = dataOf<{ webhook: { webhookId: string; signingKey: string } }>(
    await spy.call(caller, WEBHOOKS.createWebhook, { url: 'https://example.com', ownerId: user.id }, tenant),
  );
  await spy.call(caller, EVENTS.createEvent, { eventId: 'survivor' }, tenant);
  spy.remember(created.apiKey, authToken, webhook.signingKey);
  Object.assign(survivor, {
    applicationId: created.application.id,
    clientId: created.application.clientId,
    apiKey: created.apiKey,
    userId: user.id,
    webhookId: webhook.webhookId,
    intentId: second.loginIntentId,
    authToken,
  });

  await refuseWrites({ sql });
  await sql`alter table webhooks disable trigger refuse`;
  const garbage = Buffer.from('planted ciphertext, not long enough at all');
  await sql`update webhooks set signing_key = substr(signing_key, 1, 4) || ${garbage}::bytea`;
  await sql`alter table webhooks enable trigger refuse`;
}

/** Every RPC once, with a request that is right; each fails for no fault of the caller. */
async function runFailingScenario(caller: Caller, spy: LogLeakProbe): Promise<Answer[]> {
  const admin = { headers: { 'x-admin-key': ADMIN_KEY } };
  const { applicationId, apiKey, clientId, userId, webhookId, intentId, authToken } = survivor;
  const tenant = { headers: { 'x-api-key': apiKey }, application: applicationId };
  const email = `${encodeURIComponent(spy.plant('email'))}@example.com`;
  spy.remember(email);
  const login = { clientId, redirectUri: SURVIVING_REDIRECT_URI, state: spy.plant('state') };
  return [
    await spy.call(
      caller,
      ADMIN.createApplication,
      { name: spy.plant('name'), redirectUris: [login.redirectUri] },
      admin,
    ),
    await spy.call(caller, ADMIN.createApiKey, { applicationId }, admin),
    await spy.call(caller, ADMIN.createUser, { email, walletAddress: spy.plant('wallet') }, admin),
    await spy.call(caller, ADMIN.completeLogin, { loginIntentId: intentId, userId }, admin),
    await spy.call(caller, ADMIN.deleteUser, { userId }, admin),
    await spy.call(caller, ADMIN.deleteApplication, { applicationId }, admin),
    await spy.call(caller, AUTH.generateAuthUrl, login, tenant),
    await spy.call(caller, AUTH.exchangeToken, { authToken }, tenant),
    await spy.call(caller, WEBHOOKS.createWebhook, { url: 'https://example.com', ownerId: userId }, tenant),
    await spy.call(caller, WEBHOOKS.getWebhook, { webhookId }, tenant),
    await spy.call(caller, EVENTS.createEvent, { eventId: spy.plant('event') }, tenant),
    await spy.call(caller, EVENTS.checkIn, { eventId: 'survivor', attendeeId: spy.plant('attendee') }, tenant),
    await spy.call(caller, EVENTS.deleteEvent, { eventId: 'survivor' }, tenant),
  ];
}

/** The data of a success, which is what the test expects of it. */
function dataOf<Data>(answer: Answer): Data {
  if (answer.code !== 'ok') throw new Error(`${answer.code}: ${answer.message}`);
  return answer.data as Data;
}
