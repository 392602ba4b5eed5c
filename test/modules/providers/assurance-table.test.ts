/** Which claims of a provider's ID token show a second factor. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type AssuranceTable,
  highestLevelOf,
  isAssuranceTable,
  isStepUp,
  levelOfClaims,
} from '../../../src/modules/providers/assurance-table.ts';
import { OpenIdClient } from '../../../src/modules/providers/domain/openid-client.ts';
import { FakeProvider } from '../../support/fake-provider.ts';

const TABLE: AssuranceTable = { amr: { mfa: 2, otp: 2 }, acr: { phr: 3, 'a long value': 2 }, acrs: { c1: 2 } };

const LEVELS: readonly [what: string, claims: Record<string, unknown>, level: number][] = [
  ['a list', { amr: ['pwd', 'mfa'] }, 2],
  ['a text', { amr: 'mfa' }, 2],
  ['a text of several words', { acr: 'a long value' }, 2],
  ['the highest of several', { amr: ['otp', 'mfa'], acr: 'phr', acrs: ['c1'] }, 3],
  ['a value of another claim', { amr: ['phr'], acr: 'mfa' }, 1],
  ['a part of a text', { amr: 'pwd mfa', acr: 'phrh' }, 1],
  ['other letters', { amr: ['MFA'], acr: 'PHR' }, 1],
  ['other values', { amr: ['pwd'], acr: '1' }, 1],
  ['none', {}, 1],
  ['null', { amr: null }, 1],
  ['a number', { acr: 3 }, 1],
  ['true', { amr: true }, 1],
  ['an object', { amr: { mfa: true } }, 1],
  ['an empty list', { amr: [] }, 1],
  ['a list with a number', { amr: ['mfa', 1] }, 1],
  ['a list in a list', { amr: [['mfa']] }, 1],
  ['a name that every object has', { amr: ['constructor', 'toString', '__proto__'] }, 1],
];

test.each(LEVELS)('%s: %j has level %i', (_, claims, level) => {
  expect(levelOfClaims(TABLE, claims)).toBe(level);
});

test('without a table, no claim shows anything', () => {
  expect([levelOfClaims(undefined, { amr: ['mfa'] }), highestLevelOf(undefined)]).toEqual([1, 1]);
});

test('claims that objects inherit are absent', () => {
  expect(levelOfClaims({ constructor: { mfa: 2 } } as unknown as AssuranceTable, {})).toBe(1);
});

test('the highest level is that of the table', () => {
  expect([highestLevelOf(TABLE), highestLevelOf({ amr: { mfa: 2 } })]).toEqual([3, 2]);
});

const many = (count: number, value: unknown = 2) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, value]));

describe('a table', () => {
  test.each([[TABLE], [many(4, many(20))], [{ amr: { ['x'.repeat(200)]: 3 } }]])('is accepted: %#', (table) =>
    expect(isAssuranceTable(table)).toBe(true),
  );

  test.each([
    [undefined],
    ['mfa'],
    [[]],
    [null],
    [{}],
    [{ amr: {} }],
    [{ amr: ['mfa'] }],
    [{ amr: [2] }],
    [{ amr: 'mfa' }],
    [{ amr: { mfa: 1 } }],
    [{ amr: { mfa: 4 } }],
    [{ amr: { mfa: '2' } }],
    [{ amr: { mfa: 2.5 } }],
    [{ '': { mfa: 2 } }],
    [{ 'a b': { mfa: 2 } }],
    [{ amr: { '': 2 } }],
    [{ amr: { 'a\nb': 2 } }],
    [{ amr: { ['x'.repeat(201)]: 2 } }],
    [{ ['x'.repeat(101)]: { mfa: 2 } }],
    [{ amr: { mfa: 2 }, acr: { phr: 1 } }],
    [many(5, { mfa: 2 })],
    [{ amr: many(21) }],
  ])('is refused: %j', (table) => expect(isAssuranceTable(table)).toBe(false));
});

const OWN = [
  ...['client_id', 'redirect_uri', 'response_type', 'scope', 'state', 'nonce', 'code_challenge'],
  ...['code_challenge_method', 'login_hint', 'max_age', 'prompt'],
];

describe('step-up parameters', () => {
  test.each<[unknown]>([
    [{ acr_values: 'phr' }],
    [{ claims: '{"id_token": {"acrs": {"essential": true, "value": "c1"}}}' }],
    [many(4, 'x'.repeat(2_000))],
  ])('are accepted: %#', (parameters) => expect(isStepUp(parameters)).toBe(true));

  test.each<[unknown]>([
    ['text'],
    [{}],
    [[['acr_values', 'phr']]],
    [['phr']],
    [many(5, 'x')],
    [{ acr_values: '' }],
    [{ acr_values: 2 }],
    [{ acr_values: 'a\nb' }],
    [{ acr_values: 'x'.repeat(2_001) }],
    [{ 'acr values': 'phr' }],
    ...OWN.map((name): [unknown] => [{ acr_values: 'phr', [name]: 'x' }]),
  ])('are refused: %j', (parameters) => expect(isStepUp(parameters)).toBe(false));
});

describe('in the answers of a provider', () => {
  const redirectUri = 'https://usher.test/login/callback/acme';
  const secrets = { state: 'a-state', nonce: 'a-nonce', codeVerifier: 'a'.repeat(43) };
  const provider = FakeProvider.start();
  afterAll(async () => (await provider).stop());
  beforeEach(async () => void Object.assign(await provider, { claims: {}, profile: {} }));

  async function identify(claims: Record<string, unknown>, assurance: AssuranceTable | undefined = TABLE) {
    const acme = await provider;
    const client = new OpenIdClient(acme.settings({ assurance }), 5_000);
    const { href } = await client.authorizationUrl(secrets, { redirectUri, loginHint: '' });
    const callback = new URL(acme.signIn(href, { sub: 'ada', ...claims }), redirectUri);
    return client.identify(callback, secrets);
  }

  test.each(LEVELS)('%s: %j in the ID token has level %i', async (_, claims, level) => {
    expect(await identify(claims)).toMatchObject({ subject: 'ada', assurance: level });
  });

  test('userinfo, which nobody has signed, shows no second factor', async () => {
    const acme = await provider;
    acme.profile = { email: 'ada@corp.test', amr: ['mfa'], acr: 'phr', acrs: ['c1'] };
    const before = acme.requests.filter((path) => path === '/userinfo').length;
    expect(await identify({})).toMatchObject({ email: 'ada@corp.test', assurance: 1 });
    expect(await identify({ amr: ['otp'] })).toMatchObject({ assurance: 2 });
    expect(acme.requests.filter((path) => path === '/userinfo').length - before).toBe(2);
  });

  test('a provider without a table has level 1, whatever it says', async () => {
    const acme = await provider;
    const { assurance: _, ...settings } = acme.settings();
    const client = new OpenIdClient(settings, 5_000);
    const { href } = await client.authorizationUrl(secrets, { redirectUri, loginHint: '' });
    const callback = new URL(acme.signIn(href, { sub: 'ada', amr: ['mfa'], acr: 'phr' }), redirectUri);
    expect(await client.identify(callback, secrets)).toMatchObject({ assurance: 1 });
  });

  test.each([
    [{}, [null, null, null]],
    [{ stepsUp: true }, ['phr', '{"x":1}', null]],
    [{ asksAgain: true }, [null, null, 'login']],
    [{ stepsUp: true, asksAgain: true }, ['phr', '{"x":1}', 'login']],
  ])('the request with %j has acr_values, claims and prompt %j', async (asked, expected) => {
    const acme = await provider;
    const stepUp = { acr_values: 'phr', claims: '{"x":1}' };
    const client = new OpenIdClient(acme.settings({ assurance: TABLE, stepUp }), 5_000);
    const { searchParams } = await client.authorizationUrl(secrets, { redirectUri, loginHint: '', ...asked });
    expect(['acr_values', 'claims', 'prompt'].map((name) => searchParams.get(name))).toEqual(expected);
    expect(searchParams.get('state')).toBe('a-state');
  });
});
