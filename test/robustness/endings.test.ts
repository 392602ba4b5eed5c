/**
 * Every way to end something, and what is dead afterwards, on two replicas. What a row does not name is alive: somebody
 * who ends one thing must not lose another.
 */
import { afterAll, expect, test } from 'vitest';
import { follow, tokenOf, undoChangeOfAddress } from '../support/account-page.ts';
import { MCP_SERVER, startClientServers } from '../support/client-metadata.ts';
import { beginDevice, enterUserCode, pathIn } from '../support/device-client.ts';
import { request } from '../support/http.ts';
import { beginLogin, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { type Arrival, LoginFixture } from '../support/login-fixture.ts';
import {
  authorizationOf,
  beginOidcLogin,
  CODE_VERIFIER,
  createRsaJwk,
  loginAt,
  parametersOf,
} from '../support/oidc.ts';
import { getUserinfo, post, redeem, refresh } from '../support/oidc-client.ts';
import { makeRecoveryLink, recover } from '../support/recovery.ts';
import {
  adminClient,
  clientsOf,
  createTenant,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import type { Wallet } from '../support/wallet.ts';

const clients = await startClientServers();
const config: Parameters<LoginFixture['startReplica']>[0] = {
  loginMethods: ['wallet', 'email', 'passkey'],
  ...clients.config,
};
const fixture = await LoginFixture.open({ oidcSigningKeys: [createRsaJwk()], config });
const { clock, service } = fixture;
const replica = await fixture.startReplica(config);
afterAll(async () => {
  await replica.close();
  await fixture.close();
  await clients[Symbol.asyncDispose]();
});
const admin = adminClient(service);
const shop = await createTenant(service, { name: 'Shop', singleSignOn: true });
const wiki = await createTenant(service, { name: 'Wiki', singleSignOn: true });
await admin.updateApplication({ applicationId: wiki.id, openIdConnect: true, publicClient: true });
const cli = await createTenant(service, {
  name: 'Wiki CLI',
  openIdConnect: true,
  publicClient: true,
  deviceLogin: true,
});
const RESOURCE = 'https://mcp.app.test/mcp';
await createTenant(service, { ...MCP_SERVER, resourceUri: RESOURCE });
const clientId = clients.add();

/** What a person has in a browser, in the order in which it is tried: some tries begin what others look for. */
const THINGS = [
  ...['session', 'grant', 'refresh token', 'passkeys page', 'account page', 'remembered sign-in', 'copied cookies'],
  ...['auth token', 'code', 'device page', 'consent page', 'consent'],
] as const;
type Thing = (typeof THINGS)[number];

interface Person {
  readonly user: TestUser;
  readonly wallet: Wallet;
}

type Place = Awaited<ReturnType<typeof settle>>;

/** Signs in with the wallet. */
async function signIn({ wallet }: Person, by: Arrival): Promise<LoginPage> {
  const asked = await fixture.askForMessage(wallet.address, by);
  return asked.send(wallet.sign(asked.message));
}

/** Signs a person in to everything, in a new browser, which can do the rest of its work at another replica. */
async function settle(person: Person, at: TestService) {
  const browser = new LoginBrowser(at);
  const toAccount = await browser.submit(await browser.open('/account'), '/account/login');
  const path = new URL(toAccount.location ?? '').href.slice(new URL(toAccount.location ?? '').origin.length);
  const login = { loginIntentId: '', path, origin: '', state: '' };
  await follow(browser, await signIn(person, { at, browser, login }));
  const toShop = async () => {
    const begun = await beginLogin(at, shop, { prompt: 'LOGIN' });
    const { location = '' } = await signIn(person, { at, browser, login: begun });
    return { loginIntentId: begun.loginIntentId, authToken: new URL(location).searchParams.get('authToken') ?? '' };
  };
  const toWiki = async () => {
    const begun = await beginOidcLogin(browser, wiki, { prompt: 'login' });
    return parametersOf((await signIn(person, { at, browser, login: begun })).location).code ?? '';
  };
  const { authToken } = await toShop();
  const { session } = await clientsOf(at, shop).auth.exchangeToken({ authToken });
  const tokens = (await redeem(at, wiki, await toWiki(), { verifier: CODE_VERIFIER, isPublic: true })).body;
  const code = await toWiki();
  const open = await toShop();
  const devicePath = await toDevice(person, at, browser);
  const askForConsent = () => toConsent(person, { at, browser }, { prompt: 'consent' });
  await browser.submit(await browser.open(await askForConsent()), '/oidc/consent', { choice: 'allow' });
  const consentPath = await askForConsent();
  const copy = new LoginBrowser(at);
  copy.cookie = browser.cookie;
  return { browser, copy, code, tokens, sessionId: session?.id ?? '', ...open, devicePath, consentPath };
}

/** Returns the path of the page that asks whether to let a device in. */
async function toDevice(person: Person, at: TestService, browser: LoginBrowser): Promise<string> {
  const { userCode } = await beginDevice(at, cli, { isPublic: true });
  const path = pathIn(await enterUserCode(browser, userCode));
  const login = { loginIntentId: '', path, origin: '', state: '' };
  return pathIn(await signIn(person, { at, browser, login }));
}

/** Returns the path of the page that asks for the consent to a client. */
async function toConsent(
  person: Person,
  { at, browser }: { at: TestService; browser: LoginBrowser },
  changes: Readonly<Record<string, string>> = {},
): Promise<string> {
  const fields = { redirect_uri: REDIRECT, resource: RESOURCE, scope: 'orders:read', ...changes };
  const { location } = await browser.open(`/oidc/authorize?${authorizationOf({ clientId }, fields)}`);
  return pathIn(await signIn(person, { at, browser, login: loginAt(location) }));
}

const REDIRECT = 'https://assistant.test/callback';

/** Returns what still works at the replica. */
async function tryAll(place: Place, person: Person, at: TestService): Promise<Thing[]> {
  const browser = place.browser.at(at);
  const isRemembered = async (of: LoginBrowser) => {
    const { location } = await of.open(`/oidc/authorize?${authorizationOf(wiki, { prompt: 'none' })}`);
    return parametersOf(location).code !== undefined;
  };
  const isSignedIn = async (of: LoginBrowser) => (await of.open('/account')).heading !== 'Your account';
  const tries: Readonly<Record<Thing, () => Promise<boolean>>> = {
    session: async () => {
      const { sessionId } = place;
      return (await clientsOf(at, shop).sessions.checkSession({ sessionId, maxStalenessMs: 0 })).active;
    },
    grant: async () => (await getUserinfo(at, place.tokens.access_token)).status === 200,
    'refresh token': async () =>
      (await refresh(at, wiki, place.tokens.refresh_token, { isPublic: true })).status === 200,
    'passkeys page': async () =>
      (await browser.open(`/login/passkeys?intent=${place.loginIntentId}`)).heading === 'Your passkeys',
    'account page': () => isSignedIn(browser),
    'remembered sign-in': () => isRemembered(browser),
    'copied cookies': async () => (await isSignedIn(place.copy.at(at))) || (await isRemembered(place.copy.at(at))),
    'auth token': () =>
      clientsOf(at, shop)
        .auth.exchangeToken({ authToken: place.authToken })
        .then(
          () => true,
          () => false,
        ),
    code: async () => (await redeem(at, wiki, place.code, { verifier: CODE_VERIFIER, isPublic: true })).status === 200,
    'device page': async () => (await browser.open(place.devicePath)).status === 200,
    'consent page': async () => (await browser.open(place.consentPath)).status === 200,
    consent: async () => {
      const elsewhere = new LoginBrowser(at);
      const path = await toConsent(person, { at, browser: elsewhere }).catch(() => undefined);
      return path !== undefined && (await elsewhere.open(path)).status === 303;
    },
  };
  const alive: Thing[] = [];
  for (const thing of THINGS) if (await tries[thing]()) alive.push(thing);
  return alive;
}

interface Row {
  readonly way: string;
  readonly end: (here: Place, person: Person, there: Place) => Promise<unknown>;
  /** What is dead in the browser where it was done, or whose grant or session it was. */
  readonly here: readonly Thing[];
  /** What is dead in another browser of the same person. */
  readonly there: readonly Thing[];
}

async function press({ browser }: Place, path: string, fields: Record<string, string> = {}): Promise<LoginPage> {
  const token = tokenOf(await browser.open('/account/name'));
  return browser.post(path, { token, ...fields });
}

const grantOf = async ({ tokens }: Place) => {
  const { grants } = await clientsOf(service, wiki).sessions.listGrants({});
  const [, payload = ''] = (tokens.id_token ?? '').split('.');
  const { sid, sub } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const grant = grants.find((each) => each.sid === sid && each.userId === sub);
  return { grantId: grant?.grantId ?? '', sid: String(sid) };
};

/** Returns a function that returns the IDs of the users and grants whose end the application is told from now on. */
async function readEnded(tenant: Tenant) {
  const { sessions } = clientsOf(service, tenant);
  const { until: since } = await sessions.listRevocations({});
  return async () => {
    const { revocations } = await sessions.listRevocations({ since });
    return new Set(revocations.map(({ subject }) => subject.value));
  };
}

const ALL = THINGS;
/** What belongs to a grant of the wiki. */
const GRANT: readonly Thing[] = ['grant', 'refresh token', 'remembered sign-in'];
/** What belongs to the person in a browser, whatever the applications do. */
const HERE: readonly Thing[] = [
  ...(['passkeys page', 'account page', 'remembered sign-in', 'copied cookies', 'auth token', 'code'] as const),
  ...(['device page', 'consent page'] as const),
];
/** What belongs to the session of the shop, which its users have in all browsers. */
const SESSION: readonly Thing[] = ['session', 'passkeys page', 'auth token'];

const shopSessions = () => clientsOf(service, shop).sessions;

const ROWS: readonly Row[] = [
  { way: 'nothing', end: async () => undefined, here: [], there: [] },
  { way: 'account page: "Sign out"', end: (here) => press(here, '/account/logout'), here: HERE, there: [] },
  {
    way: 'account page: "Sign out everywhere"',
    end: (here) => press(here, '/account/sessions/end-all'),
    here: ALL,
    there: ALL,
  },
  {
    way: 'account page: the end of the sign-in of this browser to the wiki',
    end: async (here) => press(here, '/account/sessions/end', { application: wiki.id, sid: (await grantOf(here)).sid }),
    here: [...GRANT, 'code'],
    there: [],
  },
  {
    way: 'account page: the end of the sign-in of another browser to the wiki',
    end: async (here, _, there) =>
      press(here, '/account/sessions/end', { application: wiki.id, sid: (await grantOf(there)).sid }),
    here: [],
    there: [...GRANT, ...HERE],
  },
  {
    way: 'account page: the end of the session of the shop',
    end: (here) => press(here, '/account/sessions/end', { application: shop.id }),
    here: [...SESSION, 'remembered sign-in'],
    // The list shows the session with its last sign-in, which was in this browser.
    there: [...SESSION, ...HERE],
  },
  {
    way: 'account page: the deletion of the account',
    end: (here, { user }) => press(here, '/account/delete', { email: user.email }),
    here: ALL,
    there: ALL,
  },
  {
    way: 'the link that undoes a change of address',
    end: ({ browser }, { user }) => undoChangeOfAddress(fixture, browser, user),
    here: ALL,
    there: ALL,
  },
  {
    way: '"Use another account"',
    end: async ({ browser }) =>
      browser.submit(await browser.open((await beginLogin(service, shop)).path), '/login/forget'),
    here: HERE,
    there: [],
  },
  {
    way: 'GET /oidc/logout',
    end: ({ browser, tokens }) => browser.open(`/oidc/logout?id_token_hint=${tokens.id_token}`),
    here: [...GRANT, ...HERE],
    there: [],
  },
  {
    way: 'POST /oidc/logout from another site, which comes without cookies at first',
    end: async ({ browser, tokens }) => {
      const headers = { 'content-type': 'application/x-www-form-urlencoded' };
      const body = `id_token_hint=${tokens.id_token}`;
      const reply = await request(service.url, { path: '/oidc/logout', headers, body });
      await browser.open(reply.headers.location ?? '');
    },
    here: [...GRANT, ...HERE],
    there: [],
  },
  {
    way: 'GET /oidc/logout without an ID token, and the agreement of the person',
    end: async ({ browser }) => browser.submit(await browser.open('/oidc/logout'), '/oidc/logout'),
    here: [...GRANT, ...HERE],
    there: [],
  },
  {
    way: '/oidc/revoke',
    end: ({ tokens }) => post(service, '/oidc/revoke', { client_id: wiki.clientId, token: tokens.refresh_token ?? '' }),
    here: GRANT,
    there: [],
  },
  {
    way: 'the use of a refresh token that was replaced before the last',
    end: async ({ tokens: { refresh_token: first } }) => {
      let token = first;
      for (let times = 0; times < 2; times++) {
        token = (await refresh(service, wiki, token, { isPublic: true })).body.refresh_token;
      }
      await refresh(service, wiki, first, { isPublic: true });
    },
    here: GRANT,
    there: [],
  },
  {
    way: 'EndGrant',
    end: async (here) => clientsOf(service, wiki).sessions.endGrant({ grantId: (await grantOf(here)).grantId }),
    here: GRANT,
    there: [],
  },
  {
    way: 'EndUserGrant',
    end: async (here, { user }) =>
      admin.endUserGrant({ userId: user.id, applicationId: wiki.id, grantId: (await grantOf(here)).grantId }),
    here: GRANT,
    there: [],
  },
  {
    way: 'RevokeSession',
    end: ({ sessionId }) => shopSessions().revokeSession({ sessionId }),
    here: [...SESSION, 'remembered sign-in'],
    // The session has one sign-in, the last: that of `here`.
    there: SESSION,
  },
  {
    way: 'RevokeUserSessions',
    end: (_, { user }) => shopSessions().revokeUserSessions({ userId: user.id }),
    here: [...SESSION, 'remembered sign-in'],
    there: [...SESSION, 'remembered sign-in'],
  },
  {
    way: 'RemoveApplicationUser',
    end: (_, { user }) => admin.removeApplicationUser({ applicationId: shop.id, userId: user.id }),
    here: SESSION,
    there: SESSION,
  },
  { way: 'EndUserSessions', end: (_, { user }) => admin.endUserSessions({ userId: user.id }), here: ALL, there: ALL },
  {
    way: 'the use of a recovery link, of a lost passkey',
    end: async (_, { user }) => recover(new LoginBrowser(service), await makeRecoveryLink(service, user)),
    here: ALL,
    there: ALL,
  },
  { way: 'DeactivateUser', end: (_, { user }) => admin.deactivateUser({ userId: user.id }), here: ALL, there: ALL },
  { way: 'DeleteUser', end: (_, { user }) => admin.deleteUser({ userId: user.id }), here: ALL, there: ALL },
  { way: 'EraseUser', end: (_, { user }) => admin.eraseUser({ userId: user.id }), here: ALL, there: ALL },
];

test.for(ROWS)('$way', async ({ end, here, there }) => {
  const person = await fixture.createWalletUser();
  const [inHere, inThere] = [await settle(person, service), await settle(person, replica)];
  const grantIds = [await grantOf(inHere), await grantOf(inThere)].map(({ grantId }) => grantId);
  const [ofShop, ofWiki] = [await readEnded(shop), await readEnded(wiki)];
  clock.advance(1);
  await end(inHere, person, inThere);
  clock.advance(1);
  // Readers of revocations learn of each session and grant.
  const [toShop, toWiki] = [await ofShop(), await ofWiki()];
  expect(toShop.has(person.user.id)).toBe(here.includes('session'));
  for (const [at, things] of [here, there].entries()) {
    const isTold = toWiki.has(person.user.id) || toWiki.has(grantIds[at] ?? '');
    expect(isTold).toBe(things.includes('grant'));
  }
  const alive = { here: await tryAll(inHere, person, replica), there: await tryAll(inThere, person, service) };
  const dead = (things: readonly Thing[]) => THINGS.filter((thing) => !things.includes(thing));
  const inOrder = (things: readonly Thing[]) => THINGS.filter((thing) => things.includes(thing));
  expect({ here: dead(alive.here), there: dead(alive.there) }).toEqual({ here: inOrder(here), there: inOrder(there) });
});
