/** Interface, "States and transitions" and "Limits": what time does to intents, tokens and sessions. */
import { setTimeout as sleep } from 'node:timers/promises';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { parseTrustedProxies } from '../../src/config/trusted-proxies.ts';
import { MINUTE, SECOND, TestClock } from '../support/clock.ts';
import { request } from '../support/http.ts';
import { call, PROTOCOLS } from '../support/protocols.ts';
import { RawConnection } from '../support/raw-connection.ts';
import {
  adminClient,
  beginLogin,
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  startTestService,
  type Tenant,
  type TestService,
} from '../support/service.ts';

const clock = new TestClock(new Date('2026-03-01T12:00:00.250Z'));
let service: TestService;
let tenant: Tenant;

beforeAll(async () => {
  service = await startTestService({ clock: clock.read });
  tenant = await createTenant(service);
});

afterAll(() => service.close());

/** Returns the profile and the session, its time of creation as a Date. */
async function exchange(authToken: string, { from = service, as = tenant } = {}) {
  const { user, session } = await clientsOf(from, as).auth.exchangeToken({ authToken });
  if (!user || !session?.createdAt) throw new Error('No user or session');
  const { email, name, profileImage, walletAddress } = user;
  return {
    user: { email, name, profileImage, walletAddress },
    session: { id: session.id, createdAt: timestampDate(session.createdAt) },
  };
}

describe('A login intent', () => {
  it('can be completed until 30 minutes have passed', async () => {
    const user = await createTestUser(service);
    const loginIntentId = await beginLogin(service, tenant);
    clock.advance(30 * MINUTE - 1);
    const { authToken } = await adminClient(service).completeLogin({ loginIntentId, userId: user.id });
    expect((await exchange(authToken)).user.email).toBe(user.email);
  });

  it.each([
    ['at 30 minutes', 30 * MINUTE],
    ['any later', 45 * MINUTE],
  ])('has expired %s', async (_, age) => {
    const user = await createTestUser(service);
    const loginIntentId = await beginLogin(service, tenant);
    clock.advance(age);
    await expect(adminClient(service).completeLogin({ loginIntentId, userId: user.id })).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: 'Login intent expired',
    });
  });
});

describe('An auth token', () => {
  it.each([0, 899 * SECOND])('is valid %i ms after its second of issue', async (age) => {
    const user = await createTestUser(service);
    const authToken = await logIn(service, tenant, user);
    clock.advance(age);
    expect((await exchange(authToken)).user.email).toBe(user.email);
  });

  it.each([900 * SECOND, 901 * SECOND, 24 * 60 * MINUTE])(
    'has expired %i ms after its second of issue',
    async (age) => {
      const authToken = await logIn(service, tenant, await createTestUser(service));
      clock.advance(age);
      await expect(exchange(authToken)).rejects.toMatchObject({
        code: Code.Unauthenticated,
        rawMessage: 'Invalid or expired token',
      });
    },
  );

  it.each([
    ['/api/oauth/exchange', { status: false }],
    ['/usher.v1.AuthService/ExchangeToken', { code: 'unauthenticated' }],
  ])('is refused when it expires before the body has arrived: %s', async (path, refusal) => {
    const body = JSON.stringify({ authToken: await logIn(service, tenant, await createTestUser(service)) });
    using connection = await RawConnection.open(service.port);
    connection.send(
      `POST ${path} HTTP/1.1\r\nhost: usher.test\r\nx-api-key: ${tenant.apiKey}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
    );
    // Long enough for the call to have begun.
    await sleep(100);
    clock.advance(15 * MINUTE);
    connection.send(body.slice(10));
    const reply = JSON.parse((await connection.reply()).body);
    expect(reply).toMatchObject({ ...refusal, message: 'Invalid or expired token' });
  });

  it('opens no session that lives on after it has expired', async () => {
    const user = await createTestUser(service);
    const early = await logIn(service, tenant, user);
    clock.advance(10 * MINUTE);
    const late = await logIn(service, tenant, user);
    const { session } = await exchange(late);
    clock.advance(5 * MINUTE);
    await expect(exchange(early)).rejects.toMatchObject({ rawMessage: 'Invalid or expired token' });
    expect((await exchange(late)).session).toEqual(session);
  });

  it('can be exchanged again, for the same session', async () => {
    const authToken = await logIn(service, tenant, await createTestUser(service));
    const first = await exchange(authToken);
    clock.advance(MINUTE);
    expect(await exchange(authToken)).toEqual(first);
  });
});

describe('A session', () => {
  it('begins when the token is exchanged', async () => {
    const authToken = await logIn(service, tenant, await createTestUser(service));
    clock.advance(7 * MINUTE);
    expect((await exchange(authToken)).session.createdAt).toEqual(clock.read());
  });

  it('is the same for every token of the user until 15 minutes have passed', async () => {
    const user = await createTestUser(service);
    const first = await exchange(await logIn(service, tenant, user));
    clock.advance(15 * MINUTE - 1);
    expect(await exchange(await logIn(service, tenant, user))).toEqual(first);
  });

  it('is a new one at 15 minutes', async () => {
    const user = await createTestUser(service);
    const first = await exchange(await logIn(service, tenant, user));
    clock.advance(15 * MINUTE);
    const second = await exchange(await logIn(service, tenant, user));
    expect(second.session.id).not.toBe(first.session.id);
    expect(second.session.createdAt).toEqual(clock.read());
    clock.advance(15 * MINUTE - 1);
    expect(await exchange(await logIn(service, tenant, user))).toEqual(second);
  });

  it('shows the profile as it was when the session began', async () => {
    const profile = { name: 'Ada', profileImage: 'https://img.test/ada.png' };
    const user = await createTestUser(service, profile);
    const { id, ...before } = user;
    const first = await exchange(await logIn(service, tenant, user));
    expect(first.user).toEqual(before);

    const after = { email: `new-${user.email}`, name: undefined, profileImage: undefined, walletAddress: '0x1' };
    await service.database.sql`
      update users set email = ${after.email}, name = null, profile_image = null, wallet_address = '0x1'
      where id = ${id}`;
    expect(await exchange(await logIn(service, tenant, user))).toEqual(first);
    clock.advance(15 * MINUTE);
    expect((await exchange(await logIn(service, tenant, user))).user).toEqual(after);
  });

  it('belongs to one application', async () => {
    const user = await createTestUser(service);
    const other = await createTenant(service, { name: 'Other' });
    const here = await exchange(await logIn(service, tenant, user));
    const there = await exchange(await logIn(service, other, user), { as: other });
    expect(there.session.id).not.toBe(here.session.id);
    expect(await exchange(await logIn(service, tenant, user))).toEqual(here);
  });

  it('belongs to one user', async () => {
    const [first, second] = [await createTestUser(service), await createTestUser(service)];
    const firstSession = await exchange(await logIn(service, tenant, first));
    const secondSession = await exchange(await logIn(service, tenant, second));
    expect(secondSession.session.id).not.toBe(firstSession.session.id);
  });

  it('ends when the user is deleted', async () => {
    const user = await createTestUser(service);
    const authToken = await logIn(service, tenant, user);
    await exchange(authToken);
    await adminClient(service).deleteUser({ userId: user.id });
    await expect(exchange(authToken)).rejects.toMatchObject({ code: Code.NotFound, rawMessage: 'User not found' });
    expect(await service.database.sql`select id from sessions where user_id = ${user.id}`).toEqual([]);
  });

  it('outlives the deletion of another user', async () => {
    const [kept, deleted] = [await createTestUser(service), await createTestUser(service)];
    const authToken = await logIn(service, tenant, kept);
    const session = await exchange(authToken);
    await exchange(await logIn(service, tenant, deleted));
    await adminClient(service).deleteUser({ userId: deleted.id });
    expect(await exchange(authToken)).toEqual(session);
  });

  it('is one and the same for exchanges that race on two replicas', async () => {
    await using replica = await startTestService({
      clock: clock.read,
      database: service.database,
      like: service.config,
    });
    const authToken = await logIn(service, tenant, await createTestUser(service));
    const racing = Array.from({ length: 16 }, (_, index) =>
      exchange(authToken, { from: index % 2 === 0 ? service : replica }),
    );
    const [first, ...others] = await Promise.all(racing);
    expect(others).toEqual(Array(15).fill(first));
  });
});

describe.each(PROTOCOLS)('A session that begins over $name', (protocol) => {
  it('records the address and the user agent that began it', async () => {
    const user = await createTestUser(service);
    const { exchangeToken } = AuthService.method;
    const exchangeAs = async (userAgent: string) => {
      const headers = { 'x-api-key': tenant.apiKey, 'user-agent': userAgent, 'x-forwarded-for': '203.0.113.7' };
      const fields = { authToken: await logIn(service, tenant, user) };
      expect(await call(protocol, service.url, exchangeToken, fields, headers)).toMatchObject({ code: 'ok' });
      return service.database.sql`select ip_address, user_agent from sessions where user_id = ${user.id}`;
    };
    expect(await exchangeAs('Door/1.0')).toEqual([{ ip_address: '127.0.0.1', user_agent: 'Door/1.0' }]);
    expect(await exchangeAs('Door/2.0')).toEqual([{ ip_address: '127.0.0.1', user_agent: 'Door/1.0' }]);
    clock.advance(15 * MINUTE);
    expect(await exchangeAs('Door/3.0')).toEqual([{ ip_address: '127.0.0.1', user_agent: 'Door/3.0' }]);
  });
});

describe('A session that begins behind a trusted proxy', () => {
  it.each([
    ['is the client of the proxy', '203.0.113.7'],
    ['is the last client that no trusted proxy is', '198.51.100.1, 203.0.113.7'],
    ['is an IPv6 address', '2001:db8::7'],
  ])('records the address that %s', async (_, forwardedFor) => {
    await using proxied = await startTestService({
      clock: clock.read,
      database: service.database,
      like: service.config,
      config: { trustedProxies: parseTrustedProxies(['127.0.0.0/8']) },
    });
    const user = await createTestUser(service);
    const reply = await request(proxied.url, {
      method: 'POST',
      path: '/api/oauth/exchange',
      headers: { 'x-api-key': tenant.apiKey, 'x-forwarded-for': forwardedFor },
      body: JSON.stringify({ authToken: await logIn(service, tenant, user) }),
    });
    expect(reply.status).toBe(200);
    expect(await service.database.sql`select ip_address, user_agent from sessions where user_id = ${user.id}`).toEqual([
      { ip_address: forwardedFor.split(', ').at(-1), user_agent: '' },
    ]);
  });
});
