/** Calls that race on two replicas, many times over. */
import { expect, test } from 'vitest';
import { raceForPlaces, raceListWithScans } from '../support/check-in-races.ts';
import type { HttpPool, JsonReply } from '../support/http.ts';
import { beginLogin, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import {
  CALLERS,
  check,
  deleteWhileCheckingIn,
  openReplicas,
  type Reply,
  raceCheckInsWithDeletes,
  raceCheckInsWithUndos,
  raceExchanges,
  raceRenewals,
  raceRevocations,
  waitTurns,
} from '../support/races.ts';
import { adminClient, clientsOf, createTenant, type Tenant, type TestService } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';

const IDLE_SECONDS = 3_600;
/** The sessions have expired half an hour ago. */
const AGE_MINUTES = 45;

/** How many browsers with the same cookie continue at once. */
const TABS = 6;

interface Victim {
  readonly userId: string;
  /** In the application of the sign-in. */
  readonly sessionId: string;
  readonly browser: LoginBrowser;
}

test('no check-in commits after a delete has answered, on either of two replicas', () =>
  raceCheckInsWithDeletes(quickOrLong(32, 1_000)));

test('a delete is not starved by callers who check in without a pause', () => deleteWhileCheckingIn(48));

test('check-ins and undos that race on two replicas add up to what is left', () =>
  raceCheckInsWithUndos(quickOrLong(50, 1_000)));

test('exchanges that race on two replicas all get the one session', () => raceExchanges(quickOrLong(25, 1_000)));

test('renewals that race on two replicas all get the one successor', () => raceRenewals(quickOrLong(12, 300)));

test('nothing that races a revocation on two replicas outlives it', () => raceRevocations(quickOrLong(32, 300)));

test('scans that race on two replicas fill exactly the places of an event', () =>
  raceForPlaces({ capacity: quickOrLong(20, 100), scans: quickOrLong(80, 1_000) }));

test('a copy of the list that is read while scans and changes race has all of them', () =>
  raceListWithScans(
    quickOrLong({ attendees: 60, changes: 60, pageSize: 7 }, { attendees: 100_000, changes: 5_000, pageSize: 100 }),
  ));

/**
 * Several devices renew a session that has expired, its predecessor, or one of each, 16 times at once in each round: all
 * get the one successor.
 */
test('renewals of an expired session from several devices all get the one successor', async () => {
  const rounds = quickOrLong(18, 300);
  await using replicas = await openIdleReplicas();
  const { poolOf, signIn, setDue, pools } = replicas;
  for (let round = 0; round < rounds; round++) {
    const { userId, sessionId } = await signIn();
    await setDue(userId);
    const { body } = await renew(poolOf(round), sessionId);
    const devices = [sessionId, body.data?.id ?? ''];
    await setDue(userId, AGE_MINUTES);
    await replicas.sql`
      update session_ids set created_at = created_at - interval '30 min', expires_at = expires_at - interval '30 min'
      where id = ${sessionId}`;
    const replies = await Promise.all(
      Array.from({ length: CALLERS }, (_, caller) => renew(poolOf(caller), devices[(caller >> (round % 3)) % 2] ?? '')),
    );
    expect(
      replies.map(({ status }) => status),
      `round ${round}`,
    ).toEqual(Array(CALLERS).fill(200));
    const [successor = '', ...others] = new Set(replies.map(({ body }) => body.data?.id));
    expect(others, `round ${round}`).toEqual([]);
    expect(devices).not.toContain(successor);
    for (const pool of pools) expect((await check(pool, successor)).body.data?.active).toBe(true);
  }
});

/**
 * Ends what a user has in each round, while 16 callers on two replicas renew the session that has expired, and one more
 * exchanges the token. Once the revocation has answered, nothing that a caller was given lives or can be renewed, and
 * neither when the user has signed in again.
 */
test('nothing that races a revocation of an expired session outlives it', { timeout: 240_000 }, async () => {
  const rounds = quickOrLong(28, 300);
  await using replicas = await openIdleReplicas();
  const { services, tenant, pools, poolOf, signIn, setDue } = replicas;
  const admin = adminClient(services[0]);
  const revocations: readonly ((pool: HttpPool, userId: string, sessionId: string) => Promise<unknown>)[] = [
    (pool, _, sessionId) => pool.call('POST', '/api/sessions/revoke', { sessionId }),
    (pool, userId) => pool.call('DELETE', `/api/users/${userId}/sessions`),
    (_, userId) => admin.removeApplicationUser({ applicationId: tenant.id, userId }),
    (_, userId) => admin.deactivateUser({ userId }),
    (_, userId) => admin.deleteUser({ userId }),
    (_, userId) => admin.eraseUser({ userId }),
  ];
  let begun = 0;
  for (let round = 0; round < rounds; round++) {
    const { userId, authToken, sessionId } = await signIn();
    await setDue(userId, AGE_MINUTES);
    const given = new Set([sessionId]);
    const note = ({ status, body: { data } }: JsonReply<Reply>) => {
      const id = data?.session?.id ?? data?.id;
      if (status === 200 && id) given.add(id);
      else expect([401, 404], `round ${round}`).toContain(status);
    };
    const racing = Array.from({ length: CALLERS }, async (_, caller) => {
      await waitTurns(caller % 4);
      note(await renew(poolOf(caller), sessionId));
    });
    racing.push(
      waitTurns(round % 5).then(async () =>
        note(await poolOf(round).call<Reply>('POST', '/api/oauth/exchange', { authToken })),
      ),
    );
    const revocation = (async () => {
      await waitTurns(round % 7);
      await revocations[round % revocations.length]?.(poolOf(round >> 3), userId, sessionId);
      const late = await Promise.all(pools.map((pool) => renew(pool, sessionId)));
      expect(
        late.map(({ status }) => status),
        `round ${round}`,
      ).toEqual([401, 401]);
    })();
    await Promise.all([revocation, ...racing]);
    const expectEnded = async () => {
      for (const id of given) {
        expect((await check(poolOf(round), id)).body.data, `round ${round}`).toEqual({ active: false });
        expect((await renew(poolOf(round), id)).status, `round ${round}`).toBe(401);
      }
    };
    await expectEnded();
    begun += given.size - 1;
    if (round % revocations.length > 2) continue;
    const next = await signIn(userId);
    expect(given).not.toContain(next.sessionId);
    expect((await check(pools[0], next.sessionId)).body.data?.active).toBe(true);
    await expectEnded();
  }
  // Otherwise there was no race.
  expect(begun).toBeGreaterThan(0);
});

/**
 * Ends a sign-in in each round while tabs of the browser continue with it in another application. What has begun before
 * the revocation may live on there only if the revocation is not for that application; once the revocation has answered,
 * nothing begins any more, on either replica.
 */
test('nobody continues with a sign-in after its revocation has answered', { timeout: 5_400_000 }, async () => {
  // Each of the nine ways to end it.
  const rounds = quickOrLong(18, 9 * 300);
  await using fixture = await LoginFixture.open();
  const { service } = fixture;
  await using replica = await fixture.startReplica();
  const [shop, forum] = [await createShared(service), await createShared(service)];
  const admin = adminClient(service);
  const sessions = clientsOf(service, shop).sessions;
  const revocations: Readonly<Record<string, (victim: Victim) => Promise<unknown>>> = {
    RevokeSession: ({ sessionId }) => sessions.revokeSession({ sessionId }),
    RevokeUserSessions: ({ userId }) => sessions.revokeUserSessions({ userId }),
    'RevokeUserSessions there': ({ userId }) => clientsOf(service, forum).sessions.revokeUserSessions({ userId }),
    'RemoveApplicationUser there': ({ userId }) => admin.removeApplicationUser({ applicationId: forum.id, userId }),
    EndUserSessions: ({ userId }) => admin.endUserSessions({ userId }),
    DeactivateUser: ({ userId }) => admin.deactivateUser({ userId }),
    DeleteUser: ({ userId }) => admin.deleteUser({ userId }),
    EraseUser: ({ userId }) => admin.eraseUser({ userId }),
    forget: async ({ browser }) => {
      const { path } = await beginLogin(service, forum);
      const page = await browser.open(path);
      await browser.submit(page, '/login/forget');
    },
  };
  /** What ends the sessions that have begun there, too. */
  const endsThere = /there|User$|^End/;
  const names = Object.keys(revocations);
  let continued = 0;
  let refused = 0;
  for (let round = 0; round < rounds; round++) {
    const name = names[round % names.length] ?? '';
    const { browser, user, code, enter } = await fixture.askForCode({ of: shop });
    const { session } = await exchange(service, shop, await enter(code));
    const victim = { userId: user.id, sessionId: session?.id ?? '', browser };
    const copies = Array.from({ length: TABS }, (_, tab) => copyOf(browser, tab % 2 === 0 ? service : replica));
    const logins = await Promise.all(copies.map(() => beginLogin(service, forum)));
    const pages = await Promise.all(copies.map((copy, tab) => copy.open(logins[tab]?.path ?? '')));
    fixture.clock.advance(1);
    const racing = copies.map(async (copy, tab) => {
      await waitTurns(tab + (round % 5));
      const answer = await copy.submit(pages[tab] as LoginPage, '/login/continue');
      return answer.location
        ? await exchange(tab % 2 === 0 ? replica : service, forum, answer).catch(() => undefined)
        : undefined;
    });
    await revocations[name]?.(victim);
    const late = await Promise.all(
      [service, replica].map(async (at) => {
        const copy = copyOf(browser, at);
        copy.cookie = copies[0]?.cookie;
        const login = await beginLogin(at, forum);
        const page = await copy.open(login.path);
        const isOffered = page.forms.some(({ action }) => action === '/login/continue');
        const { token = '' } = pages[0]?.forms.find(({ fields }) => fields.token)?.fields ?? {};
        const answer = await copy.post('/login/continue', { intent: login.loginIntentId, token });
        return { isOffered, location: answer.location };
      }),
    );
    expect(late, `round ${round}, ${name}`).toEqual(Array(2).fill({ isOffered: false, location: undefined }));
    const begun = (await Promise.all(racing)).flatMap((each) => each?.session?.id ?? []);
    continued += begun.length;
    refused += TABS - begun.length;
    // One session per user and application.
    expect(new Set(begun).size, `round ${round}, ${name}`).toBeLessThanOrEqual(name === 'RevokeSession' ? 1 : 2);
    for (const sessionId of begun) {
      const { active } = await clientsOf(service, forum).sessions.checkSession({ sessionId, maxStalenessMs: 0 });
      if (endsThere.test(name)) expect(active, `round ${round}, ${name}`).toBe(false);
    }
  }
  // Otherwise there was no race.
  expect(continued).toBeGreaterThan(0);
  expect(refused).toBeGreaterThan(0);
});

async function openIdleReplicas() {
  const replicas = await openReplicas();
  const { services, tenant } = replicas;
  // The other replica learns of it with the key, which it has not seen yet.
  await adminClient(services[0]).updateApplication({ applicationId: tenant.id, sessionIdleSeconds: IDLE_SECONDS });
  return replicas;
}

function renew(pool: HttpPool, sessionId: string): Promise<JsonReply<Reply>> {
  return pool.call<Reply>('POST', '/api/sessions/renew', { sessionId });
}

async function createShared(service: TestService): Promise<Tenant> {
  const tenant = await createTenant(service);
  await adminClient(service).updateApplication({ applicationId: tenant.id, singleSignOn: true });
  return tenant;
}

/** Returns another tab of the browser, with cookies of its own from then on. */
function copyOf(browser: LoginBrowser, at: TestService): LoginBrowser {
  const copy = new LoginBrowser(at);
  copy.cookie = browser.cookie;
  return copy;
}

async function exchange(service: TestService, of: Tenant, { location = '' }: LoginPage) {
  const authToken = new URL(location).searchParams.get('authToken') ?? '';
  return clientsOf(service, of).auth.exchangeToken({ authToken });
}
