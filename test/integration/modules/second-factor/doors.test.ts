/** Every way into an application, by what the person has and what the application demands. What one replica holds another completes. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../support/clock.ts';
import { beginDevice, decide, enterUserCode, pathIn, poll } from '../../../support/device-client.ts';
import { LOGIN_CONFIG, LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { type Arrived, LoginFixture } from '../../../support/login-fixture.ts';
import { authorizationOf, createRsaJwk } from '../../../support/oidc.ts';
import { FLAGS, type Oddities, SoftwarePasskey } from '../../../support/passkey.ts';
import { savePasskey, sendPasskey, TO_PASSKEYS } from '../../../support/passkey-page.ts';
import { finishSetUp, STEP, setUpApp, type TestApp, takeStep } from '../../../support/second-factor.ts';
import {
  adminClient,
  createLoginIntent,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  type Tenant,
  type TestUser,
} from '../../../support/service.ts';

const loginMethods = ['email', 'passkey'] as const;
const fixture = await LoginFixture.open({
  start: new Date(),
  config: { loginMethods },
  oidcSigningKeys: [createRsaJwk()],
});
const { clock, service } = fixture;
const { sql } = service.database;
const replica = await fixture.startReplica({ ...LOGIN_CONFIG, loginMethods });
afterAll(async () => {
  await replica.close();
  await fixture.close();
});
// The same few people ask for many codes.
beforeEach(() => sql`delete from rate_limits`);
const admin = adminClient(service);

const SHARED = { singleSignOn: true, openIdConnect: true, deviceLogin: true };
const FLOORS = ['ANY', 'TWO_FACTORS', 'PHISHING_RESISTANT'] as const;
const shop = await createTenant(service, { ...SHARED, name: 'Shop' });
const floors = await Promise.all(FLOORS.map((name) => createTenant(service, { ...SHARED, requiredAssurance: name })));

interface Person {
  readonly user: TestUser;
  readonly app?: TestApp;
  readonly passkey?: SoftwarePasskey;
  /** Remembers a sign-in by code of before the person had more. */
  readonly old: LoginBrowser;
  /** Remembers a sign-in with all that a code leads to. */
  readonly recent: LoginBrowser;
}

async function createPerson({ hasApp = false, hasPasskey = false } = {}): Promise<Person> {
  const user = await createTestUser(service);
  const [old, recent] = [new LoginBrowser(service), new LoginBrowser(service)];
  const atShop = await fixture.readyByEmail({ user, of: shop, browser: old });
  expect((await atShop.submit()).location).toContain('authToken');
  const app = hasApp ? (await setUpApp(fixture, user)).app : undefined;
  const passkey = hasPasskey ? new SoftwarePasskey() : undefined;
  const asked = await fixture.askForCode({ user, of: shop, browser: recent });
  const first = await asked.browser.submit(asked.codePage, '/login/code', {
    code: asked.code,
    ...(passkey && TO_PASSKEYS),
  });
  const page = app ? await takeStep(fixture, { browser: recent, page: first, app }) : first;
  if (passkey) await savePasskey({ browser: recent, page }, passkey, PUBLIC_URL);
  return { user, old, recent, ...(app && { app }), ...(passkey && { passkey }) };
}

const PEOPLE = {
  nothing: await createPerson(),
  app: await createPerson({ hasApp: true }),
  passkey: await createPerson({ hasPasskey: true }),
  both: await createPerson({ hasApp: true, hasPasskey: true }),
};

/** Goes on with what follows the first step, at the other replica. Returns which page that was. */
async function goOn(person: Person, { browser, login }: Omit<Arrived, 'page'>, page: LoginPage): Promise<string> {
  if (page.location) return '';
  const other = browser.at(replica);
  const isOpen = async () => expect(await fixture.isCompleted(login.loginIntentId)).toBe(false);
  if (page.heading === 'One more step' && person.app) {
    await isOpen();
    clock.advance(30 * SECOND);
    const { location } = await takeStep(fixture, { browser: other, page, app: person.app });
    expect(location).toBeDefined();
    return 'step ';
  }
  if (page.heading === 'Set up an authenticator app') {
    await isOpen();
    const { codes } = await finishSetUp(fixture, other, page);
    expect((await other.submit(codes, `${STEP}/done`)).location).toBeDefined();
    return 'set-up ';
  }
  return '';
}

async function levelOf(loginIntentId: string): Promise<string> {
  const [intent] = await sql`select completed_at, assurance from login_intents where id = ${loginIntentId}`;
  return intent?.completed_at ? String(intent.assurance) : 'no';
}

/** Signs in by a code if the page has the form for it. */
async function enterCode(person: Person, arrived: Arrived): Promise<string> {
  const { browser, page, login } = arrived;
  if (!page.forms.some(({ action }) => action === '/login/email')) return levelOf(login.loginIntentId);
  const { code, codePage } = await fixture.askForCode({ ...arrived, user: person.user });
  const how = await goOn(person, arrived, await browser.submit(codePage, '/login/code', { code }));
  return `${how}${await levelOf(login.loginIntentId)}`;
}

const byPasskey =
  (odd?: Oddities): Door =>
  async (person, of) => {
    if (!person.passkey) return 'none';
    const arrived = await fixture.arrive({ of });
    const how = await goOn(person, arrived, await sendPasskey(arrived, person.passkey, PUBLIC_URL, odd));
    return `${how}${await levelOf(arrived.login.loginIntentId)}`;
  };

/** Takes the offer to continue, if there is one, and compares it with what `prompt=none` answers. */
async function continueIn(browser: LoginBrowser, of: Tenant): Promise<string> {
  const silent = await browser.at(replica).open(`/oidc/authorize?${authorizationOf(of, { prompt: 'none' })}`);
  const { searchParams } = new URL(silent.location ?? '');
  const { page, login } = await fixture.arrive({ of, browser });
  const isOffered = page.forms.some(({ action }) => action === '/login/continue');
  expect([searchParams.has('code'), searchParams.get('error')]).toEqual([
    isOffered,
    isOffered ? null : 'login_required',
  ]);
  if (isOffered) await browser.at(replica).submit(page, '/login/continue');
  return levelOf(login.loginIntentId);
}

async function signInForDevice(person: Person, of: Tenant): Promise<string> {
  const device = await beginDevice(service, of);
  const browser = new LoginBrowser(service);
  const path = pathIn(await enterUserCode(browser, device.userCode));
  const loginIntentId = new URLSearchParams(path.split('?')[1]).get('intent') ?? '';
  const login = { loginIntentId, path, origin: '', state: '' };
  const level = await enterCode(person, { browser, login, page: await browser.open(path) });
  if (!level.endsWith('no')) {
    const answered = await browser.open(path);
    await decide({ browser, page: await browser.open(pathIn(answered)) }, 'allow');
  }
  clock.advance(5 * SECOND);
  const { status } = await poll(replica, of, device);
  expect(status).toBe(level.endsWith('no') ? 400 : 200);
  return level;
}

const completed =
  (assurance?: number): Door =>
  async ({ user }, of) => {
    const loginIntentId = await createLoginIntent(service, of);
    await admin
      .completeLogin({ loginIntentId, userId: user.id, ...(assurance && { assurance }) })
      .catch(({ rawMessage }) => expect(rawMessage).toBe('Assurance not met'));
    return levelOf(loginIntentId);
  };

type Door = (person: Person, of: Tenant) => Promise<string>;

const DOORS = {
  code: async (person, of) => enterCode(person, await fixture.arrive({ of })),
  passkey: byPasskey(),
  'passkey without verification': byPasskey({ flags: FLAGS.verified }),
  'remembered since before': ({ old }, of) => continueIn(old, of),
  remembered: ({ recent }, of) => continueIn(recent, of),
  device: signInForDevice,
  CompleteLogin: completed(),
  'CompleteLogin of level 2': completed(2),
  'CompleteLogin of level 3': completed(3),
} as const satisfies Record<string, Door>;

/** By level of the application: what was asked, and the level of the sign-in. */
const OWN_LEVEL = {
  CompleteLogin: ['1', 'no', 'no'],
  'CompleteLogin of level 2': ['2', '2', 'no'],
  'CompleteLogin of level 3': ['3', '3', '3'],
};
const NO_PASSKEY = {
  passkey: ['none', 'none', 'none'],
  'passkey without verification': ['none', 'none', 'none'],
};
const WITH_STEP = ['step 2', 'step 2', 'no'];

const EXPECTED: Readonly<Record<keyof typeof PEOPLE, Readonly<Record<keyof typeof DOORS, readonly string[]>>>> = {
  nothing: {
    ...{ ...OWN_LEVEL, ...NO_PASSKEY },
    code: ['1', 'set-up 2', 'no'],
    'remembered since before': ['1', 'no', 'no'],
    remembered: ['1', 'no', 'no'],
    device: ['1', 'set-up 2', 'no'],
  },
  app: {
    ...{ ...OWN_LEVEL, ...NO_PASSKEY },
    code: WITH_STEP,
    'remembered since before': ['no', 'no', 'no'],
    remembered: ['2', '2', 'no'],
    device: WITH_STEP,
  },
  passkey: {
    ...OWN_LEVEL,
    code: ['1', 'no', 'no'],
    passkey: ['3', '3', '3'],
    'passkey without verification': ['1', 'no', 'no'],
    'remembered since before': ['1', 'no', 'no'],
    remembered: ['1', 'no', 'no'],
    device: ['1', 'no', 'no'],
  },
  both: {
    ...OWN_LEVEL,
    code: WITH_STEP,
    passkey: ['3', '3', '3'],
    'passkey without verification': WITH_STEP,
    'remembered since before': ['no', 'no', 'no'],
    remembered: ['2', '2', 'no'],
    device: WITH_STEP,
  },
};

describe.each(Object.entries(DOORS))('by %s', (name, enter) => {
  it.each(Object.keys(PEOPLE) as (keyof typeof PEOPLE)[])('a person with %s', async (who) => {
    const outcomes: string[] = [];
    for (const of of floors) {
      // A set-up gives the person an app.
      const person =
        who === 'nothing' && /code|device/.test(name)
          ? { ...PEOPLE.nothing, user: await createTestUser(service) }
          : PEOPLE[who];
      outcomes.push(await enter(person, of));
    }
    expect(outcomes).toEqual(EXPECTED[who][name as keyof typeof DOORS]);
  });
});

it('a level that is raised during the second step is not met by it', async () => {
  const { user, app } = PEOPLE.app;
  const of = await createTenant(service);
  const asked = await fixture.askForCode({ user, of });
  const page = await asked.enter(asked.code);
  await admin.updateApplication({ applicationId: of.id, requiredAssurance: 'PHISHING_RESISTANT' });
  clock.advance(MINUTE);
  if (app) await takeStep(fixture, { browser: asked.browser.at(replica), page, app });
  expect(await levelOf(asked.login.loginIntentId)).toBe('no');
});
