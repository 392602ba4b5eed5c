/** Losing the access to a restricted application while coming in, on two replicas. */
import { afterAll, expect, test } from 'vitest';
import { FakeProvider } from '../support/fake-provider.ts';
import { formOf } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { authorizationOf, createRsaJwk, parametersOf } from '../support/oidc.ts';
import { redeem, refresh, signInForCode } from '../support/oidc-client.ts';
import { SoftwarePasskey } from '../support/passkey.ts';
import { savePasskey, sendPasskey } from '../support/passkey-page.ts';
import { waitForSome, waitTurns } from '../support/races.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestGroup,
  createTestUser,
  logIn,
  PUBLIC_URL,
  startTestService,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { Wallet } from '../support/wallet.ts';

/** What somebody holds who has come in. */
type Held = Partial<Record<'authToken' | 'sessionId' | 'code' | 'refreshToken', string>>;

/** Comes in at one of the replicas. Resolves to nothing if the door is shut. */
type Enter = (at: TestService) => Promise<Held>;

const LOSSES = ['RemoveGroupMember', 'DeleteGroup', 'SetGroupAccess', 'RemoveApplicationUser'] as const;

/** How many have come in, or found the door shut, before the access is taken away. In every fifth round, all. */
const AHEAD = [Number.POSITIVE_INFINITY, 0, 5, 2, 8];

const acme = await FakeProvider.start();
const config = {
  loginMethods: ['wallet', 'email', 'passkey'] as const,
  loginProviders: [acme.settings()],
  loginProviderIds: undefined,
};
const fixture = await LoginFixture.open({ config, start: new Date(), oidcSigningKeys: [createRsaJwk()] });
const replica = await fixture.startReplica(config);
afterAll(async () => {
  await replica.close();
  await fixture.close();
  await acme.stop();
});
const shop = await createTenant(fixture.service, { name: 'Shop', singleSignOn: true });
const restricted = { singleSignOn: true, openIdConnect: true, restrictAccess: true };
const grafana = await createTenant(fixture.service, { name: 'Grafana', ...restricted });
/** How often somebody came in by a door, and was shut out afterwards, or found it shut. */
const countsOfDoors: Record<string, { entered: number; shut: number }> = {};

test('nobody is inside after the loss of the access, by whichever door they came', {
  timeout: 5_400_000,
}, async (context) => {
  // Each of the four ways to lose it.
  const rounds = quickOrLong(8, 300);
  for (let round = 0; round < rounds; round++) {
    const loss = LOSSES[round % LOSSES.length] ?? 'RemoveGroupMember';
    const { user, wallet, lose } = await createUser(loss);
    const doors = Object.entries(await openDoors(user, wallet));
    fixture.clock.advance(1);
    const entering = doors.map(async ([door, enter], index) => {
      await waitTurns((index * 3 + round) % 17);
      const held = await enter(atOf(index + round)).catch((): Held => ({}));
      const { entered, shut } = countsOfDoors[door] ?? { entered: 0, shut: 0 };
      const isIn = Object.values(held).some(Boolean);
      countsOfDoors[door] = { entered: entered + Number(isIn), shut: shut + Number(!isIn) };
      return [door, held] as const;
    });
    await waitForSome(entering, AHEAD[round % AHEAD.length] ?? 0);
    await lose(atOf(round + 1));
    for (const [door, held] of await Promise.all(entering)) {
      for (const at of [fixture.service, replica])
        expect(await uses(at, held), `round ${round}: ${loss}, ${door}`).toEqual([]);
    }
    const again = completeLogin(fixture.service, user).then(
      () => 'in',
      ({ rawMessage }) => rawMessage,
    );
    expect(await again).toBe('Access not allowed');
  }
  const counts = Object.entries(countsOfDoors);
  report(context, {
    tried: `${rounds} losses of access against ${counts.length} doors`,
    lost: '0 inside',
    figures: counts.map(([door, { entered, shut }]) => `${door} ${entered} in, ${shut} shut`).join('; '),
  });
  expect(counts.filter(([, { entered }]) => entered === 0)).toEqual([]);
});

test('an application that becomes restricted signs out everybody who may not enter, and nobody else', {
  timeout: 600_000,
}, async (context) => {
  await using service = await startTestService();
  const { sql } = service.database;
  const tenant = await createTenant(service);
  const count = quickOrLong(1_200, 60_000);
  await sql`
    with people as (
      insert into users (id, email, wallet_address, created_at)
      select gen_random_uuid(), n || '@example.com', '', now() from generate_series(1, ${count}) n returning id, email
    ), joined as (
      insert into application_users (application_id, user_id, first_signed_in_at)
      select ${tenant.id}, id, now() from people
    )
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
      authenticated_at, began_at, created_at, expires_at)
    select ${tenant.id}, id, gen_random_uuid(), email, '', '', '', 'email', now(), now(), now(), now() + interval '15 min'
    from people`;
  const sessionsOf = async () => sql<{ id: string; userId: string }[]>`
    select id, user_id as "userId" from sessions where application_id = ${tenant.id}`;
  const [kept] = await sessionsOf();
  await adminClient(service).addApplicationUser({ applicationId: tenant.id, userId: kept?.userId ?? '' });
  const beganAt = performance.now();
  await adminClient(service).updateApplication({ applicationId: tenant.id, restrictAccess: true });
  const ms = Math.round(performance.now() - beganAt);
  if (quickOrLong(false, true)) expect(ms).toBeLessThan(5_000);
  const { sessions } = clientsOf(service, tenant);
  expect((await sessions.listSessions({})).sessions).toMatchObject([{ userId: kept?.userId }]);
  // The call answers, and a job does the rest.
  await expect.poll(sessionsOf, { timeout: 300_000, interval: 100 }).toEqual([kept]);
  const endMs = Math.round(performance.now() - beganAt);
  report(context, {
    tried: `an application with ${count} sessions becomes restricted`,
    figures: `answered after ${ms} ms, ended after ${endMs} ms`,
  });
});

function atOf(index: number): TestService {
  return index % 2 === 0 ? fixture.service : replica;
}

async function createUser(loss: (typeof LOSSES)[number]) {
  const { service } = fixture;
  const wallet = new Wallet();
  const user = await createTestUser(service, { walletAddress: wallet.address });
  const ids = { applicationId: grafana.id, userId: user.id };
  if (loss === 'RemoveApplicationUser') {
    await adminClient(service).addApplicationUser(ids);
    return { user, wallet, lose: (at: TestService) => adminClient(at).removeApplicationUser(ids) };
  }
  const { groupId } = await createTestGroup(service, { userIds: [user.id] });
  const access = { groupId, applicationId: grafana.id };
  await adminClient(service).setGroupAccess({ ...access, allowsAccess: true });
  const lose = async (at: TestService): Promise<unknown> => {
    const admin = adminClient(at);
    if (loss === 'RemoveGroupMember') return admin.removeGroupMember({ groupId, userId: user.id });
    return loss === 'DeleteGroup' ? admin.deleteGroup({ groupId }) : admin.setGroupAccess(access);
  };
  return { user, wallet, lose };
}

async function completeLogin(at: TestService, { id: userId }: TestUser): Promise<Held> {
  const loginIntentId = await createLoginIntent(at, grafana);
  const { authToken } = await adminClient(at).completeLogin({ loginIntentId, userId });
  return { authToken };
}

/** Brings the user to every door. What needs a sign-in before is done here. */
async function openDoors(user: TestUser, wallet: Wallet): Promise<Readonly<Record<string, Enter>>> {
  const { service, clock, mailbox } = fixture;
  const of = grafana;
  // It is made to users without a passkey.
  const offered = await fixture.askForCode({ of, user });
  const offer = await offered.browser.submit(offered.codePage, '/login/code', { code: offered.code, passkey: '1' });
  formOf(offer, '/login/passkey/new');
  clock.advance(60_000);
  const { submit } = await withPasskey(user);
  clock.advance(60_000);
  const asked = await fixture.askForCode({ of, user });
  const { code } = asked;
  expect(mailbox.codeFor(user.email)).toBe(code);
  const signed = await fixture.askForMessage(wallet.address, { of });
  const signature = wallet.sign(signed.message);
  const toProvider = await arriveAtProvider(user);
  const remembered = await remember(user);
  const arrived = await fixture.arrive({ browser: remembered, of });
  const authToken = await logIn(service, of, user);
  const sessionId = await beginSession(service, of, user);
  const oidcCode = await signInForCode(service, of, user);
  const refreshToken = (await redeem(service, of, await signInForCode(service, of, user))).body.refresh_token;
  const tokenOf = ({ location }: { location?: string | undefined }): Held => {
    const { authToken: token } = parametersOf(location);
    return token === undefined ? {} : { authToken: token };
  };
  return {
    code: async (at) => tokenOf(await asked.enter(code, at)),
    wallet: async (at) => tokenOf(await signed.send(signature, at)),
    passkey: async () => tokenOf(await submit()),
    'the offer of a passkey': async (at) =>
      tokenOf(await savePasskey({ browser: offered.browser.at(at), page: offer }, new SoftwarePasskey(), PUBLIC_URL)),
    provider: async (at) => tokenOf(await toProvider.browser.at(at).open(toProvider.answer)),
    'Continue as': async (at) => tokenOf(await remembered.at(at).submit(arrived.page, '/login/continue')),
    CompleteLogin: (at) => completeLogin(at, user),
    ExchangeToken: async (at) => {
      const { session } = await clientsOf(at, of).auth.exchangeToken({ authToken });
      return { sessionId: session?.id ?? '' };
    },
    RenewSession: async (at) => {
      const { session } = await clientsOf(at, of).sessions.renewSession({ sessionId });
      return { sessionId: session?.id ?? '' };
    },
    'a code of OpenID Connect': async (at) => tokensOf((await redeem(at, of, oidcCode)).body),
    'a refresh': async (at) => tokensOf((await refresh(at, of, refreshToken)).body),
    'prompt=none': async (at) => {
      const { location } = await remembered.at(at).open(`/oidc/authorize?${authorizationOf(of, { prompt: 'none' })}`);
      const parameters = parametersOf(location);
      return parameters.code === undefined ? {} : { code: parameters.code };
    },
  };
}

/** Gives the user a passkey at the shop, and returns how it signs in to Grafana. */
async function withPasskey(user: TestUser) {
  const passkey = new SoftwarePasskey();
  const { browser, codePage, code } = await fixture.askForCode({ of: shop, user });
  const page = await browser.submit(codePage, '/login/code', { code, passkey: '1' });
  await savePasskey({ browser, page }, passkey, PUBLIC_URL);
  fixture.clock.advance(60_000);
  const arrived = await fixture.arrive({ of: grafana });
  return { submit: () => sendPasskey(arrived, passkey, PUBLIC_URL) };
}

async function arriveAtProvider(user: TestUser) {
  const { issuer } = acme.settings();
  await fixture.service.database.sql`insert into user_identities (issuer, subject, user_id, provider, created_at)
    values (${issuer ?? ''}, ${user.id}, ${user.id}, 'acme', now())`;
  const { browser, page } = await fixture.arrive({ of: grafana });
  const form = page.forms.find(({ fields }) => fields.provider === 'acme');
  const { location } = await browser.post('/login/provider', { ...form?.fields });
  return { browser, answer: acme.signIn(location, { sub: user.id }) };
}

/** Returns a browser that has signed in at the shop. */
async function remember(user: TestUser) {
  fixture.clock.advance(60_000);
  const { browser, submit } = await fixture.readyByEmail({ of: shop, user });
  await submit();
  fixture.clock.advance(60_000);
  return browser;
}

/** Returns what somebody can still do with what they hold. */
async function uses(at: TestService, { authToken, sessionId, code, refreshToken }: Held): Promise<string[]> {
  const { auth, sessions } = clientsOf(at, grafana);
  const succeeds = (call: Promise<unknown>) => call.then(Boolean, () => false);
  const isGranted = ({ status }: { status: number }) => status === 200;
  const uses = {
    exchange: authToken && (await succeeds(auth.exchangeToken({ authToken }))),
    check: sessionId && (await sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active,
    renew: sessionId && (await succeeds(sessions.renewSession({ sessionId }))),
    redeem: code && isGranted(await redeem(at, grafana, code)),
    refresh: refreshToken && isGranted(await refresh(at, grafana, refreshToken)),
  };
  return Object.entries(uses).flatMap(([name, works]) => (works ? [name] : []));
}

function tokensOf({ refresh_token: refreshToken }: Readonly<Record<string, string>>): Held {
  return refreshToken === undefined ? {} : { refreshToken };
}
