/** ExchangeToken: which tokens are accepted, and when tokens and sessions end. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { AuthTokens } from '../../src/domain/tokens/auth-tokens.ts';
import { refusal, validationFailed } from '../support/answers.ts';
import { MINUTE, SECOND, TestClock } from '../support/clock.ts';
import { call, PROTOCOLS } from '../support/protocols.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { adminClient, clientsOf, createTestUser, logIn, PUBLIC_URL } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const { exchangeToken } = AuthService.method;
const INVALID_TOKEN = { code: Code.Unauthenticated, rawMessage: 'Invalid or expired token' };
const USER_NOT_FOUND = { code: Code.NotFound, rawMessage: 'User not found' };

const clock = new TestClock(new Date('2026-03-01T12:00:00.250Z'));
const { service, tenant, other, credentials, callWith } = await openContractFixture({ clock: clock.read });
const admin = adminClient(service);

/** Returns the profile and the session, its time of creation as a Date. */
async function exchange(authToken: string, as = tenant) {
  const { user, session } = await clientsOf(service, as).auth.exchangeToken({ authToken });
  if (!user || !session?.createdAt) throw new Error('No user or session');
  const { email, name, profileImage, walletAddress } = user;
  return {
    user: { email, name, profileImage, walletAddress },
    session: { id: session.id, createdAt: timestampDate(session.createdAt) },
  };
}

const authToken = await logIn(service, tenant, await createTestUser(service));
const foreignToken = await logIn(service, other, await createTestUser(service));

it.each([
  ['has 8193 bytes in 4097 characters', `${'é'.repeat(4096)}a`],
  ['is valid but for its length', `${authToken}${'.'.repeat(8193)}`],
  ['has a NUL', 'to\0ken'],
])('returns 400 Validation failed when the token %s', async (_, token) => {
  expect(await callWith(exchangeToken, { authToken: token })).toEqual(validationFailed('authToken'));
});

// Every other way to be wrong: test/robustness/tokens.test.ts.
it.each([
  ['has 8192 bytes and is no JWT', 'a'.repeat(8192)],
  ['has a part too few', authToken.split('.', 2).join('.')],
  ['has the signature of another', [...authToken.split('.', 2), foreignToken.split('.')[2]].join('.')],
  ['was minted for another application', foreignToken],
])('returns 401 Invalid or expired token when the token %s', async (_, token) => {
  const invalid = refusal('unauthenticated', 'Invalid or expired token');
  expect(await callWith(exchangeToken, { authToken: token })).toEqual(invalid);
});

it('returns 404 User not found for a deleted user while the token is valid, and then 401', async () => {
  const user = await createTestUser(service);
  const token = await logIn(service, tenant, user);
  await adminClient(service).deleteUser({ userId: user.id });
  await expect(exchange(token)).rejects.toMatchObject(USER_NOT_FOUND);
  clock.advance(15 * MINUTE);
  await expect(exchange(token)).rejects.toMatchObject(INVALID_TOKEN);
});

describe('An auth token', () => {
  it('is valid for 899 seconds after its second of issue, and then no more', async () => {
    const user = await createTestUser(service);
    const authToken = await logIn(service, tenant, user);
    clock.advance(899 * SECOND);
    expect((await exchange(authToken)).user.email).toBe(user.email);
    clock.advance(SECOND);
    await expect(exchange(authToken)).rejects.toMatchObject(INVALID_TOKEN);
  });

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
    await expect(exchange(early)).rejects.toMatchObject(INVALID_TOKEN);
    expect((await exchange(late)).session).toEqual(session);
  });
});

describe('A session', () => {
  it('begins when a token is exchanged, is the same for every token of the user, and a new one at 15 minutes', async () => {
    const user = await createTestUser(service);
    const authToken = await logIn(service, tenant, user);
    clock.advance(7 * MINUTE);
    const first = await exchange(authToken);
    expect(first.session.createdAt).toEqual(clock.read());
    clock.advance(MINUTE);
    expect(await exchange(authToken)).toEqual(first);
    clock.advance(14 * MINUTE - 1);
    expect(await exchange(await logIn(service, tenant, user))).toEqual(first);
    clock.advance(1);
    const second = await exchange(await logIn(service, tenant, user));
    expect(second.session.id).not.toBe(first.session.id);
    expect(second.session.createdAt).toEqual(clock.read());
    clock.advance(15 * MINUTE - 1);
    expect(await exchange(await logIn(service, tenant, user))).toEqual(second);
  });

  it('is of the last sign-in, with ID, instants and profile as they were', async () => {
    const user = await createTestUser(service);
    const { sql } = service.database;
    const first = await logIn(service, tenant, user);
    const begun = await exchange(first);
    const { sessions } = clientsOf(service, tenant);
    const shown = async () => (await sessions.checkSession({ sessionId: begun.session.id, maxStalenessMs: 0 })).session;
    const before = await shown();
    expect(before?.method).toBe('page');
    clock.advance(MINUTE);
    const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);
    const { clientId } = tenant;
    const login = { clientId, userId: user.id, loginIntentId: randomUUID(), authenticatedAt: clock.read() };
    const byWallet = await tokens.mint({ ...login, method: 'wallet', assurance: 1 });
    const events = () =>
      sql`select from audit_events where action = 'AuthService/ExchangeToken' and resource = ${user.id}`;
    const signIn = { method: 'wallet', authTime: timestampFromDate(clock.read()) };
    expect(await exchange(byWallet)).toEqual(begun);
    expect(await shown()).toEqual({ ...before, ...signIn });
    expect(await events()).toHaveLength(2);
    // An exchange of the same token, or of an earlier one, changes nothing.
    for (const authToken of [byWallet, first]) expect(await exchange(authToken)).toEqual(begun);
    expect(await shown()).toEqual({ ...before, ...signIn });
    expect(await events()).toHaveLength(2);
  });

  it('of a later sign-in ends with a revocation, and with it the token', async () => {
    const user = await createTestUser(service);
    const { session } = await exchange(await logIn(service, tenant, user));
    clock.advance(MINUTE);
    const later = await logIn(service, tenant, user);
    await exchange(later);
    const { sessions } = clientsOf(service, tenant);
    await sessions.revokeSession({ sessionId: session.id });
    expect((await sessions.checkSession({ sessionId: session.id, maxStalenessMs: 0 })).active).toBe(false);
    await expect(exchange(later)).rejects.toMatchObject(INVALID_TOKEN);
    clock.advance(1);
    const next = await exchange(await logIn(service, tenant, user));
    expect(next.session.id).not.toBe(session.id);
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

  it('belongs to one application and one user', async () => {
    const user = await createTestUser(service);
    const here = await exchange(await logIn(service, tenant, user));
    const there = await exchange(await logIn(service, other, user), other);
    const another = await exchange(await logIn(service, tenant, await createTestUser(service)));
    expect(new Set([here, there, another].map(({ session }) => session.id)).size).toBe(3);
    expect(await exchange(await logIn(service, tenant, user))).toEqual(here);
  });

  it('ends when the user is deleted, and outlives other users', async () => {
    const [kept, deleted] = [await createTestUser(service), await createTestUser(service)];
    const [keptToken, authToken] = [await logIn(service, tenant, kept), await logIn(service, tenant, deleted)];
    const session = await exchange(keptToken);
    await exchange(authToken);
    await admin.deleteUser({ userId: deleted.id });
    await expect(exchange(authToken)).rejects.toMatchObject(USER_NOT_FOUND);
    expect(await service.database.sql`select id from sessions where user_id = ${deleted.id}`).toEqual([]);
    expect(await exchange(keptToken)).toEqual(session);
  });
});

describe.each(PROTOCOLS)('A session that begins over $name', (protocol) => {
  it('records the address and the user agent that began it', async () => {
    const user = await createTestUser(service);
    const exchangeAs = async (userAgent: string) => {
      const headers = { ...credentials, 'user-agent': userAgent, 'x-forwarded-for': '203.0.113.7' };
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
