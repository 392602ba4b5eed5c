/** Each condition of the statements of consents, and of grants that need one, a row each. What people see: consents.test.ts. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import {
  type AskedConsent,
  allowAgain,
  allowClient,
  denyClient,
  findAskedConsent,
  findAskingIntent,
  isRemembered,
} from '../../../../src/modules/oidc/domain/authorization/consent.ts';
import { rotateGrant } from '../../../../src/modules/oidc/domain/grants/rotate-grant.ts';
import type { RefreshToken } from '../../../../src/modules/oidc/domain/tokens/refresh-token.ts';
import {
  at,
  type CallOptions,
  CLIENT,
  DAY,
  type GrantScene,
  NOW,
  ofDocument,
  openGrantScenes,
  outcomeOf,
  SECOND,
  SIGNED_IN,
} from '../../../support/grant-scene.ts';
import { adminClient } from '../../../support/service.ts';

const scenes = await openGrantScenes();
afterAll(scenes.close);
const { service, sql, keys, callOf, createScene: createLogin, begin } = scenes;
const { setIntent, setGrant, setUser, setApplication, cutOff, cutOffBrowser, cutOffEverywhere, consent } = scenes;

/** A completed login of a client that nobody has registered. */
async function createScene(columns: object = {}) {
  const scene = await createLogin();
  await setIntent(scene, { ...ofDocument, ...columns });
  return scene;
}

const RESTED: AskedConsent = {
  ...{ scope: 1, scopeNames: ['read'], askConsent: false, resourceScopes: [], email: 'ada@app.test' },
};

async function asking(scene: GrantScene) {
  const intent = await findAskingIntent(callOf(scene), scene.intent);
  if (!intent) throw new Error('The login is missing');
  return intent;
}

test.each<[string, object, boolean]>([
  ['of such a client', {}, true],
  ['of the application', { client_id: null, client_name: null }, false],
  ['of a registered client', { client_name: null }, false],
  ['of a client without its ID', { client_id: null }, false],
  ['that is open', { completed_at: null, user_id: null }, false],
  ['that nobody has completed', { user_id: null }, false],
  ['that was not completed', { completed_at: null }, false],
])('a login %s asks for consent: %s', async (_, columns, isAsking) => {
  const scene = await createScene(columns);
  const found = await findAskingIntent(callOf(scene), scene.intent);
  expect(found).toEqual(isAsking ? expect.objectContaining({ userId: scene.user, forClient: CLIENT }) : undefined);
});

test('a login that is none asks for no consent', async () => {
  expect(await findAskingIntent(callOf(await createLogin()), randomUUID())).toBeUndefined();
});

test('a login asks for what its client wants, of its own user, at its own resource', async () => {
  await createScene();
  const scene = await createScene({ ask_consent: true, scope: 3 });
  const resourceScopes = [{ name: 'read', description: 'Read' }];
  await setApplication(scene, { resource_scopes: resourceScopes });
  const [{ email } = { email: '' }] = await sql<{ email: string }[]>`select email from users where id = ${scene.user}`;
  const asked = await findAskedConsent(callOf(scene), await asking(scene));
  expect(asked).toEqual({ scope: 3, scopeNames: ['read'], askConsent: true, resourceScopes, email });
});

test('a login that is gone meanwhile asks for nothing', async () => {
  const asked = findAskedConsent(callOf(await createScene()), { id: randomUUID() });
  expect(await outcomeOf(asked)).toBe('consent_required');
});

test.each<[string, (scene: GrantScene) => PromiseLike<unknown> | undefined, boolean, Partial<AskedConsent>?]>([
  ['what is asked for', (s) => consent(s, { scope_names: ['openid', 'read'] }), true],
  ['more than is asked for', (s) => consent(s, { scope_names: ['openid', 'read', 'write'] }), true],
  ['less than is asked for', (s) => consent(s), false],
  ['nothing', () => undefined, false],
  ['nothing at the resource', (s) => consent(s, { scope_names: ['openid'] }), true, { scopeNames: null }],
  ['what is asked for again', (s) => consent(s, { scope_names: ['openid', 'read'] }), false, { askConsent: true }],
  ['another client', (s) => consent(s, { client_id: `${CLIENT}?`, scope_names: ['openid', 'read'] }), false],
  ['another resource', (s) => consent(s, { application_id: randomUUID(), scope_names: ['openid', 'read'] }), false],
  [
    'a program of this computer',
    async (s) => {
      await setIntent(s, { redirect_uri: 'http://127.0.0.1:7/' });
      await consent(s, { scope_names: ['openid', 'read'] });
    },
    false,
  ],
  [
    'what has ended',
    async (s) => {
      await consent(s, { scope_names: ['openid', 'read'] });
      await cutOffEverywhere(s, SIGNED_IN);
    },
    false,
  ],
])('who has consented to %s need not be asked: %s', async (_, change, isKnown, changes) => {
  const scene = await createScene();
  await consent({ ...scene, user: randomUUID() }, { scope_names: ['openid', 'read'] });
  await change(scene);
  expect(await isRemembered(callOf(scene), await asking(scene), { ...RESTED, ...changes })).toBe(isKnown);
});

type Asking = Awaited<ReturnType<typeof asking>>;

interface Answer {
  readonly options?: CallOptions;
  readonly asked?: AskedConsent;
  readonly address?: string;
}

const allow = (scene: GrantScene, intent: Asking, { options, asked = RESTED, address = '192.0.2.1' }: Answer = {}) =>
  allowClient(callOf(scene, options), keys, intent, asked, address);
const storedOf = ({ user }: Pick<GrantScene, 'user'>) => sql`select * from consents where user_id = ${user}`;
const intentOf = async ({ intent }: GrantScene) => {
  const [row] = await sql`select consented_at, redeemed_at from login_intents where id = ${intent}`;
  return row;
};

/** What may happen after the page was shown, and whether the question is still open then, or the sign-in has ended. */
const meanwhile: readonly (readonly [
  what: string,
  change: (scene: GrantScene) => PromiseLike<unknown> | undefined,
  state: 'open' | 'over' | 'ended',
])[] = [
  ['nothing happens', () => undefined, 'open'],
  ['the login ends later', (s) => setIntent(s, { expires_at: at(1) }), 'open'],
  ['the login ends now', (s) => setIntent(s, { expires_at: NOW }), 'over'],
  ['the code is redeemed', (s) => setIntent(s, { redeemed_at: at(-1) }), 'over'],
  ['the login is one of a registered client', (s) => setIntent(s, { client_name: null }), 'over'],
  ['the login is not completed', (s) => setIntent(s, { completed_at: null }), 'over'],
  ['the user is deactivated', (s) => setUser(s, { deactivated_at: NOW }), 'ended'],
  ['a cut-off comes with the sign-in', (s) => cutOff(s, SIGNED_IN), 'ended'],
  ['a cut-off came before the sign-in', (s) => cutOff(s, at(-2 * SECOND - 1)), 'open'],
  ['the browser is signed out', (s) => cutOffBrowser(s, SIGNED_IN), 'ended'],
];

describe.each<[string, (scene: GrantScene, intent: Asking) => Promise<void>]>([
  ['an answer', allow],
  ['a remembered answer', (scene, intent) => allowAgain(callOf(scene), intent)],
])('%s', (_, answer) => {
  test.each(meanwhile)('while %s', async (_what, change, state) => {
    const [scene, other] = [await createScene(), await createScene()];
    const intent = await asking(scene);
    await change(scene);
    await answer(scene, intent);
    expect((await intentOf(scene))?.consented_at).toEqual(state === 'open' ? NOW : null);
    expect((await intentOf(other))?.consented_at).toBe(null);
  });

  test('is the first that counts', async () => {
    const scene = await createScene({ consented_at: at(-1) });
    await answer(scene, await asking(scene));
    expect((await intentOf(scene))?.consented_at).toEqual(at(-1));
    expect(await storedOf(scene)).toEqual([]);
  });
});

test.each(meanwhile)('a denial while %s', async (_, change, state) => {
  const [scene, other] = [await createScene(), await createScene()];
  const intent = await asking(scene);
  await change(scene);
  const [before] = [await intentOf(scene)];
  await denyClient(callOf(scene), intent);
  expect((await intentOf(scene))?.redeemed_at).toEqual(state === 'over' ? before?.redeemed_at : NOW);
  expect((await intentOf(other))?.redeemed_at).toBe(null);
});

test('a later consent adds to the one before, with what is known of the client now', async () => {
  const scene = await createScene();
  await consent(scene, { client_name: 'Helper', scope_names: ['write', 'openid'], authenticated_at: at(-DAY) });
  await allow(scene, await asking(scene));
  expect(await storedOf(scene)).toEqual([
    {
      ...{ user_id: scene.user, application_id: scene.app.id, client_id: CLIENT, client_name: 'Assistant' },
      ...{ scope_names: ['write', 'openid', 'read'], created_at: NOW, authenticated_at: SIGNED_IN },
    },
  ]);
});

test('a consent to a program of this computer is not stored', async () => {
  const scene = await createScene({ redirect_uri: 'http://127.0.0.1:7/' });
  await allow(scene, await asking(scene));
  expect(await storedOf(scene)).toEqual([]);
  expect((await intentOf(scene))?.consented_at).toEqual(NOW);
});

test('a consent that is stored while its user is erased is removed again', async () => {
  const scene = await createScene();
  // The erasure has not seen what was stored while it was on its way.
  const erase = async () => {
    await adminClient(service).eraseUser({ userId: scene.user });
    await consent(scene);
  };
  await allow(scene, await asking(scene), { options: { meanwhile: { consentToClient: erase } } });
  expect(await storedOf(scene)).toEqual([]);
});

test('the user gets a notice a day about the same access from one network, which names the client', async () => {
  const scene = await createScene();
  let woken = 0;
  const notices = { toLanguage: () => 'en', wake: () => void woken++ };
  const allowed = async (answer: Answer = {}) => {
    const again = { ...scene, intent: randomUUID() };
    await sql`insert into login_intents select (jsonb_populate_record(i, jsonb_build_object('id', ${again.intent}::text))).*
      from login_intents i where id = ${scene.intent}`;
    await allow(again, await asking(again), { options: { notices }, ...answer });
    const [stored] = await sql`select count(*)::int from notices where user_id = ${scene.user}`;
    return stored?.count;
  };
  // Without a mail server there is no notice, and that of the day is not used up.
  expect(await allowed({ options: {} })).toBe(0);
  expect(await allowed()).toBe(1);
  expect(woken).toBe(1);
  expect(await allowed()).toBe(1);
  expect(await allowed({ address: '198.51.100.1' })).toBe(2);
  expect(await allowed({ asked: { ...RESTED, scopeNames: ['read', 'write'] } })).toBe(3);
  const values = await sql`select distinct value, kind from notices where user_id = ${scene.user}`;
  expect(values).toEqual([{ value: 'Assistant (assistant.test)', kind: 'clientAllowed' }]);
});

/** What a grant that needs a consent is worth. */
const ofConsent: readonly (readonly [string, (scene: GrantScene) => PromiseLike<unknown> | undefined, boolean])[] = [
  ['the user consents', (s) => consent(s), true],
  ['the user consents to more', (s) => consent(s, { scope_names: ['write', 'read'] }), true],
  ['the user does not consent', () => undefined, false],
  ['the user consents to something else', (s) => consent(s, { scope_names: ['write'] }), false],
  ['the user consents to another client', (s) => consent(s, { client_id: `${CLIENT}?` }), false],
  ['the user consents elsewhere', (s) => consent(s, { application_id: randomUUID() }), false],
  ['somebody else consents', (s) => consent(s, { user_id: randomUUID() }), false],
  [
    'the consent has ended',
    async (s) => {
      await consent(s);
      await cutOffEverywhere(s, SIGNED_IN);
    },
    false,
  ],
];

function rotate(scene: GrantScene) {
  const token = { applicationId: scene.app.id, grantId: scene.intent, rotation: 1 } as RefreshToken;
  return rotateGrant(callOf(scene, { forClient: CLIENT }), token);
}

describe('a grant that needs a consent', () => {
  const create = () => createScene({ consented_at: at(-1), authenticated_at: at(-SECOND) });

  test.each(ofConsent)('ends as it begins: %s', async (_, change, isGood) => {
    const scene = await create();
    await change(scene);
    expect(await outcomeOf(begin(scene, { forClient: CLIENT }))).toBe(isGood ? 'ok' : 'invalid_grant');
  });

  test.each(ofConsent)('gets no further refresh token: %s', async (_, change, isGood) => {
    const scene = await create();
    await consent(scene);
    await begin(scene, { forClient: CLIENT });
    await setGrant(scene, { rotation: 1 });
    await sql`delete from consents where user_id = ${scene.user}`;
    await change(scene);
    expect(await outcomeOf(rotate(scene))).toBe(isGood ? 'ok' : 'invalid_grant');
  });
});
