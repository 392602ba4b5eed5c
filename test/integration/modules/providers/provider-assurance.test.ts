/** Second factors that a provider has checked, and since when those of an account count that was linked by a code. */
import { decodeJwt } from 'jose';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { follow, openAccount } from '../../../support/account-page.ts';
import { HOUR } from '../../../support/clock.ts';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { beginOidcLogin, CODE_VERIFIER, createRsaJwk, parametersOf } from '../../../support/oidc.ts';
import { redeem } from '../../../support/oidc-client.ts';
import { SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import {
  adminClient,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  type Tenant,
  type TestUser,
} from '../../../support/service.ts';

const acme = await FakeProvider.start();
const corp = await FakeProvider.start();
const plain = await FakeProvider.start();
const fixture = await LoginFixture.open({
  start: new Date(),
  oidcSigningKeys: [createRsaJwk()],
  config: {
    loginMethods: ['email', 'passkey'],
    loginProviderIds: undefined,
    loginProviders: [
      acme.settings({ assurance: { amr: { mfa: 2 }, acr: { phr: 3 } }, stepUp: { acr_values: 'phr' } }),
      corp.settings({ id: 'corp', name: 'Corp', trustEmail: true, assurance: { amr: { mfa: 2 } } }),
      plain.settings({ id: 'plain', name: 'Plain' }),
    ],
  },
});
const { clock, mailbox, service } = fixture;
const { sql } = service.database;
const admin = adminClient(service);
afterAll(async () => {
  await fixture.close();
  await Promise.all([acme.stop(), corp.stop(), plain.stop()]);
});

const SHARED = { openIdConnect: true, allowSignUp: true, singleSignOn: true };
const applications = {
  ANY: await createTenant(service, SHARED),
  TWO_FACTORS: await createTenant(service, { ...SHARED, requiredAssurance: 'TWO_FACTORS' }),
  PHISHING_RESISTANT: await createTenant(service, { ...SHARED, requiredAssurance: 'PHISHING_RESISTANT' }),
};
type Floor = keyof typeof applications;
const LEVELS = { ANY: 1, TWO_FACTORS: 2, PHISHING_RESISTANT: 3 } as const;
const WEEK = 7 * 24 * HOUR;
const MFA = { amr: ['pwd', 'mfa'] };
const MISSING = '\u2068Acme\u2069 has not checked a second factor.';

let user: TestUser;
let subject: string;
beforeEach(async () => {
  user = await createTestUser(service);
  subject = user.id;
});

/** Gives the user an account at a provider, as an earlier version of Usher has. */
const insertIdentity = (provider = acme, id = 'acme') => sql`
  insert into user_identities (issuer, subject, user_id, provider, created_at)
  values (${provider.settings().issuer}, ${subject}, ${user.id}, ${id}, now())`;

async function leave(of: Tenant | undefined, provider = 'acme', browser = new LoginBrowser(service)) {
  clock.advance(1);
  const { path, loginIntentId } = await beginOidcLogin(browser, of ?? applications.ANY);
  const page = await browser.open(path);
  return { ...(await send(browser, page, provider)), browser, page, loginIntentId };
}

async function send(browser: LoginBrowser, page: LoginPage, provider: string) {
  const form = page.forms.find(({ fields }) => fields.provider === provider);
  const sent = await browser.post('/login/provider', { ...form?.fields });
  return { sent, query: sent.location ? parametersOf(sent.location) : {} };
}

async function signIn(claims: Record<string, unknown>, of?: Tenant) {
  const { browser, sent, loginIntentId } = await leave(of);
  const page = await browser.open(acme.signIn(sent.location, { sub: subject, ...claims }));
  return { browser, page, loginIntentId };
}

const intentOf = async (loginIntentId: string) =>
  (await sql`select assurance, method from login_intents where id = ${loginIntentId}`)[0];

/** Returns the level of a sign-in with the account, at which the provider has checked a second factor. */
async function levelOf(claims: Record<string, unknown> = MFA) {
  const { loginIntentId } = await signIn(claims);
  return (await intentOf(loginIntentId))?.assurance;
}

describe.each(Object.entries(applications))('where an application demands %s', (floor, of) => {
  test.each<[Record<string, unknown>, number]>([
    [{}, 1],
    [{ amr: ['pwd'] }, 1],
    [{ amr: 'mfa' }, 2],
    [MFA, 2],
    [{ acr: 'phr' }, 3],
    [{ acr: 3, amr: { mfa: true } }, 1],
  ])('an ID token with %j has level %i', async (claims, level) => {
    await insertIdentity();
    const { page, loginIntentId } = await signIn(claims, of);
    const suffices = level >= LEVELS[floor as Floor];
    expect(await intentOf(loginIntentId)).toEqual(
      suffices ? { assurance: level, method: 'acme' } : { assurance: null, method: null },
    );
    expect({ alert: page.alert, isRedirected: page.location !== undefined }).toEqual({
      // Where two factors suffice, the person goes on to set one up.
      alert: floor === 'PHISHING_RESISTANT' && !suffices ? MISSING : '',
      isRedirected: suffices,
    });
    if (!suffices) return;
    const { body } = await redeem(service, of, parametersOf(page.location).code ?? '', { verifier: CODE_VERIFIER });
    expect(decodeJwt(body.id_token ?? '')).toMatchObject({
      amr: level > 1 ? ['acme', 'mfa'] : ['acme'],
      acr: ['1', '2', 'phr'][level - 1],
    });
  });
});

test('userinfo that claims a second factor shows none', async () => {
  await insertIdentity();
  acme.profile = { email: user.email, email_verified: true, ...MFA, acr: 'phr' };
  expect(await levelOf({})).toBe(1);
  acme.profile = {};
});

test.each<[Floor, string[], string]>([
  ['ANY', ['acme', 'corp', 'plain'], ''],
  ['TWO_FACTORS', ['acme', 'corp'], 'takes two factors'],
  ['PHISHING_RESISTANT', ['acme'], 'takes two factors'],
])('the login page of %s offers the passkey, and the providers %j', async (floor, expected, text) => {
  const { page } = await leave(applications[floor]);
  const forms = page.forms.filter(({ action }) => action === '/login/passkey' || action === '/login/provider');
  expect(forms.map(({ fields }) => fields.provider).filter((id) => id !== undefined)).toEqual(expected);
  if (floor !== 'ANY') expect(forms[0]?.action).toBe('/login/passkey');
  expect(page.body).toContain(text);
});

test('a provider that cannot show enough is refused before it is asked', async () => {
  const { browser, page } = await leave(applications.TWO_FACTORS);
  const form = page.forms.find(({ fields }) => fields.provider === 'acme');
  for (const [floor, provider] of [
    ['TWO_FACTORS', 'plain'],
    ['PHISHING_RESISTANT', 'corp'],
  ] as const) {
    const { page: other } = floor === 'TWO_FACTORS' ? { page } : await leave(applications[floor], 'acme', browser);
    const fields = floor === 'TWO_FACTORS' ? form?.fields : other.forms.find((each) => each.fields.provider)?.fields;
    const sent = await browser.post('/login/provider', { ...fields, provider });
    expect(sent.location).toBeUndefined();
    expect(sent.alert).toContain('That is not enough here.');
  }
});

test('the provider is asked for a second factor where the login demands one, and once more by a button', async () => {
  await insertIdentity();
  expect((await leave(applications.ANY)).query).not.toHaveProperty('acr_values');
  const { browser, sent, query, loginIntentId } = await leave(applications.PHISHING_RESISTANT);
  expect(query).toMatchObject({ acr_values: 'phr', scope: 'openid email profile' });
  expect(query).not.toHaveProperty('prompt');
  let page = await browser.open(acme.signIn(sent.location, { sub: subject }));
  expect(page.body).toContain('Try again with');
  expect(page.forms.map(({ fields }) => fields.provider).filter(Boolean)).toEqual(['acme']);
  const second = await send(browser, page, 'acme');
  expect(second.query).toMatchObject({ acr_values: 'phr', prompt: 'login' });
  page = await browser.open(acme.signIn(second.sent.location, { sub: subject }));
  expect(page.alert).toContain('has not checked a second factor');
  expect(page.body).not.toContain('Try again with');
  const third = await send(browser, page, 'acme');
  expect(third.query).not.toHaveProperty('prompt');
  page = await browser.open(acme.signIn(third.sent.location, { sub: subject, acr: 'phr' }));
  expect(page.location).toContain('code=');
  expect(await intentOf(loginIntentId)).toEqual({ assurance: 3, method: 'acme' });
});

test('an application that comes to demand more meanwhile gets no weaker sign-in, and says what is missing', async () => {
  await insertIdentity();
  const of = await createTenant(service, SHARED);
  const { browser, sent, loginIntentId } = await leave(of);
  acme.answers.set('/userinfo', async (_request, response) => {
    await admin.updateApplication({ applicationId: of.id, requiredAssurance: 'PHISHING_RESISTANT' });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ sub: subject }));
  });
  const page = await browser.open(acme.signIn(sent.location, { sub: subject }));
  acme.answers.clear();
  expect(page.alert).toContain('has not checked a second factor');
  expect((await intentOf(loginIntentId))?.assurance).toBeNull();
});

test('a refused sign-in is an attempt of its user', async () => {
  await insertIdentity();
  await signIn({}, applications.PHISHING_RESISTANT);
  const list = async () => (await admin.listSignInAttempts({ userId: user.id })).signInAttempts;
  await expect.poll(list).toMatchObject([{ reason: 'ASSURANCE_NOT_MET', method: 'acme' }]);
});

test('other applications continue the sign-in with its level', async () => {
  await insertIdentity();
  const { browser } = await signIn(MFA);
  for (const [floor, isOffered] of [
    ['TWO_FACTORS', true],
    ['PHISHING_RESISTANT', false],
  ] as const) {
    const { page } = await leave(applications[floor], 'acme', browser);
    expect(page.forms.some(({ action }) => action === '/login/continue')).toBe(isOffered);
  }
});

/** Signs in at Corp, which the operator trusts to know whose the address is. */
async function signInAtCorp(claims: Record<string, unknown>, of: Tenant, email = user.email) {
  const { browser, sent, loginIntentId } = await leave(of, 'corp');
  const person = { sub: email, email, email_verified: true, ...claims };
  return { page: await browser.open(corp.signIn(sent.location, person)), loginIntentId };
}

describe('somebody new at a trusted provider', () => {
  test('signs up with the level of the sign-in', async () => {
    const email = `${crypto.randomUUID()}@corp.test`;
    const { page, loginIntentId } = await signInAtCorp(MFA, applications.TWO_FACTORS, email);
    expect(page.location).toContain('code=');
    expect(await intentOf(loginIntentId)).toEqual({ assurance: 2, method: 'corp' });
  });

  test('does not become a user without the second factor that is demanded', async () => {
    const email = `${crypto.randomUUID()}@corp.test`;
    const { page } = await signInAtCorp({}, applications.TWO_FACTORS, email);
    expect(page.alert).toContain('has not checked a second factor');
    expect((await admin.listUsers({ email })).users).toEqual([]);
  });

  test('has the level at once, although the user of the address has a passkey', async () => {
    await addPasskey();
    for (let time = 0; time < 2; time++) {
      const { loginIntentId } = await signInAtCorp(MFA, applications.TWO_FACTORS);
      expect(await intentOf(loginIntentId)).toEqual({ assurance: 2, method: 'corp' });
    }
  });

  test('of an address whose user has a passkey is told of the missing second factor', async () => {
    await addPasskey();
    const { page, loginIntentId } = await signInAtCorp({}, applications.TWO_FACTORS);
    expect(page.alert).toContain('has not checked a second factor');
    expect((await intentOf(loginIntentId))?.assurance).toBeNull();
  });
});

async function addPasskey(): Promise<SoftwarePasskey> {
  const { browser, codePage, code } = await fixture.askForCode({ user });
  const page = await browser.submit(codePage, '/login/code', { code, ...TO_PASSKEYS });
  const passkey = new SoftwarePasskey();
  await savePasskey({ browser, page }, passkey, PUBLIC_URL);
  return passkey;
}

/** Links an account by a code, as somebody does who reads the user's e-mails. */
async function linkByCode() {
  const { browser, sent } = await leave(undefined);
  const linkPage = await browser.open(acme.signIn(sent.location, { sub: subject, email: user.email, ...MFA }));
  const codePage = await browser.submit(linkPage, '/login/link');
  expect((await browser.submit(codePage, '/login/code', { code: mailbox.codeFor(user.email) })).status).toBe(303);
}

/** Links an account on the account page in a browser that is signed in there. */
async function linkOnPage({ browser, page }: { browser: LoginBrowser; page: LoginPage }, id = 'acme') {
  const form = page.forms.find(({ action, fields }) => action === '/account/providers/link' && fields.provider === id);
  const { location } = await browser.post('/account/providers/link', { ...form?.fields });
  const provider = id === 'acme' ? acme : corp;
  const linked = await follow(browser, await browser.open(provider.signIn(location, { sub: subject })));
  expect(linked.body).toContain('The account is linked.');
}

async function openAccountBy(act: (begun: { browser: LoginBrowser; page: LoginPage }) => Promise<LoginPage>) {
  clock.advance(1);
  const browser = new LoginBrowser(service);
  const page = await follow(browser, await browser.submit(await browser.open('/account'), '/account/login'));
  return { browser, page: await follow(browser, await act({ browser, page })) };
}

const byPasskey = (passkey: SoftwarePasskey) => openAccountBy((begun) => sendPasskey(begun, passkey, PUBLIC_URL));

/** Signs in to the account page at Corp, which has checked two factors. */
async function byTwoFactors() {
  await sql`insert into user_identities (issuer, subject, user_id, provider, created_at)
    values (${corp.settings().issuer}, ${`at corp ${user.id}`}, ${user.id}, 'corp', now())`;
  return openAccountBy(async ({ browser, page }) => {
    const { sent } = await send(browser, page, 'corp');
    const claims = { sub: `at corp ${user.id}`, auth_time: Math.floor(clock.read().getTime() / 1_000), ...MFA };
    return browser.open(corp.signIn(sent.location, claims));
  });
}

const daysLeft = async () => {
  const [row] = await sql`select counts_from from user_identities where subject = ${subject}`;
  return row?.counts_from ? Math.round((row.counts_from.getTime() - clock.read().getTime()) / (24 * HOUR)) : null;
};

describe('an account counts', () => {
  const removeAgo = (age: number) =>
    sql`update users set passkey_removed_at = ${new Date(clock.read().getTime() - age)} where id = ${user.id}`;

  test.each<[what: string, link: () => Promise<unknown>, days: number | null]>([
    ['at once for somebody without a passkey, by a code', linkByCode, null],
    [
      'at once for somebody without a passkey, on the account page',
      async () => linkOnPage(await openAccount(fixture, user)),
      null,
    ],
    ['after 7 days for somebody with a passkey, by a code', async () => addPasskey().then(linkByCode), 7],
    [
      'after 7 days for somebody with a passkey, on the account page after a code',
      async () => addPasskey().then(async () => linkOnPage(await openAccount(fixture, user))),
      7,
    ],
    ['at once after a sign-in with the passkey', async () => linkOnPage(await byPasskey(await addPasskey())), null],
    ['after 7 days where a passkey went 6 days ago', async () => removeAgo(6 * 24 * HOUR).then(linkByCode), 7],
    ['at once where a passkey went 7 days ago', async () => removeAgo(WEEK - 1).then(linkByCode), null],
    ['at once after two factors for somebody without a passkey', async () => linkOnPage(await byTwoFactors()), null],
    [
      'after 7 days after two factors for somebody with a passkey, if it could resist phishing',
      async () => addPasskey().then(async () => linkOnPage(await byTwoFactors())),
      7,
    ],
  ])('%s', async (_, link, days) => {
    await link();
    expect(await daysLeft()).toBe(days);
    const { identities } = await admin.listUserIdentities({ userId: user.id });
    expect(identities.find((each) => each.subject === subject)?.countsFrom !== undefined).toBe(days !== null);
    expect((await openAccount(fixture, user)).page.body.includes('Counts from')).toBe(days !== null);
    expect(await levelOf()).toBe(days === null ? 2 : 1);
    if (days === null) return;
    const { page } = await signIn(MFA, applications.TWO_FACTORS);
    expect(page.alert).toContain('was linked a short time ago');
    const [{ from } = { from: new Date(0) }] =
      await sql`select counts_from as "from" from user_identities where subject = ${subject}`;
    // Each login comes a millisecond later: the last one before that instant, and one at it.
    clock.advance(from.getTime() - clock.read().getTime() - 2);
    expect(await levelOf()).toBe(1);
    expect(await levelOf()).toBe(2);
    expect((await openAccount(fixture, user)).page.body).not.toContain('Counts from');
  });

  test('at once after two factors, if it could not resist phishing either, although there is a passkey', async () => {
    await addPasskey();
    const signedIn = await openAccountBy(async ({ browser, page }) => {
      await insertIdentity();
      const { sent } = await send(browser, page, 'acme');
      const claims = { sub: subject, auth_time: Math.floor(clock.read().getTime() / 1_000), ...MFA };
      return browser.open(acme.signIn(sent.location, claims));
    });
    subject = `at corp ${user.id}`;
    await linkOnPage(signedIn, 'corp');
    expect(await daysLeft()).toBeNull();
  });

  test('at once if an earlier version of Usher has linked it', async () => {
    await addPasskey();
    await insertIdentity();
    expect(await levelOf()).toBe(2);
  });

  test('a young one without a second factor is told of that one', async () => {
    await addPasskey();
    await linkByCode();
    const { page } = await signIn({}, applications.TWO_FACTORS);
    expect(page.alert).toContain('has not checked a second factor');
  });
});

test('where more is demanded, an account that nobody has is not offered to be linked by a code', async () => {
  const { page } = await signIn(MFA, applications.TWO_FACTORS);
  expect(page.alert).toContain('No account belongs to this sign-in at \u2068Acme\u2069.');
});
