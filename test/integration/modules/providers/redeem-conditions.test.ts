/** Each condition of a sign-in at a provider, a row each. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { deriveLoginCodeKeys } from '../../../../src/domain/login/login-code.ts';
import { SignUpRules } from '../../../../src/domain/login/sign-up-rules.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import type { Identity } from '../../../../src/modules/providers/domain/provider-client.ts';
import {
  redeemProviderAnswer,
  requireProviderPermit,
} from '../../../../src/modules/providers/domain/redeem-provider-answer.ts';
import type { LoginProvider } from '../../../../src/modules/providers/parse-login-providers.ts';
import { at, HOUR, NOW, openDomain, reason } from '../../../support/domain-scene.ts';
import { generateIssuerKey } from '../../../support/issuer.ts';
import { newBrowser } from '../../../support/new-browser.ts';

const { sql, insert, callAt, createUser, createApplication } = await openDomain();
const { privateKey, kid, alg } = generateIssuerKey('EdDSA', 'key');
const tokens = await AuthTokens.create('https://usher.test', [{ ...privateKey.export({ format: 'jwk' }), kid, alg }]);
const issuer = 'https://acme.test';

type Columns = Readonly<Record<string, unknown>>;

interface Changes {
  readonly identity?: Partial<Identity>;
  readonly provider?: Partial<LoginProvider>;
  readonly hasEmail?: boolean;
  readonly browser?: Parameters<typeof newBrowser>[0];
}

let applicationId: string;
let loginIntentId: string;
let authorizationId: string;
let subject: string;
let email: string;
let codes: { keys: ReturnType<typeof deriveLoginCodeKeys>; limitFactor: number };
beforeEach(async () => {
  applicationId = await createApplication({ allow_sign_up: true });
  loginIntentId = (await insert('login_intents', { application_id: applicationId })).id;
  [authorizationId, subject, email] = [randomUUID(), randomUUID(), `${randomUUID()}@corp.test`];
  codes = { keys: deriveLoginCodeKeys([randomBytes(32)]), limitFactor: 1 };
});

const setApplication = (columns: Columns) =>
  sql`update applications set ${sql(columns as never)} where id = ${applicationId}`;
const demand = (level: number) => setApplication({ required_assurance: level });
const link = (userId: string, columns: Columns = {}) =>
  insert('user_identities', { issuer, subject, user_id: userId, provider: 'acme', ...columns });

/** How often the provider was asked. */
let asked = 0;

async function redeem({ identity, provider, hasEmail = true, browser }: Changes = {}) {
  const acme: LoginProvider = {
    ...{ id: 'acme', name: 'Acme', type: 'openid', issuer, clientId: 'usher', clientSecret: 'secret' },
    ...{ trustEmail: false, emailDomains: [], assurance: { amr: { mfa: 2, phr: 3 } }, ...provider },
  };
  const person = { issuer, subject, email, isEmailVerified: true, name: 'Ada', assurance: 1, ...identity };
  const identify = async () => {
    asked++;
    return person;
  };
  const problems: string[] = [];
  const secrets = { state: '', nonce: '', codeVerifier: '' };
  const answer = await redeemProviderAnswer(
    callAt(),
    { tokens, codes, hasEmail, signUps: new SignUpRules() },
    newBrowser(browser),
    {
      connection: { provider: acme, identify },
      callback: new URL('https://usher.test'),
      authorization: { subjectId: loginIntentId, id: authorizationId, begunAt: NOW, ...secrets },
      purpose: 'login',
      onProblem: (problem) => void problems.push(problem),
    },
  ).catch(({ reason, detail }) => ({ reason, detail }));
  return { answer, problems };
}

/** Returns the reason of a refusal, the user who is signed in, or the address for a code. */
async function resultOf(changes: Changes = {}): Promise<string> {
  const { answer } = await redeem(changes);
  if ('reason' in answer) return answer.detail === undefined ? answer.reason : `${answer.reason}: ${answer.detail}`;
  if (!('redirectUrl' in answer)) return `code for ${answer.email}`;
  const [intent] = await sql`select user_id from login_intents where id = ${loginIntentId}`;
  return String(intent?.user_id);
}

const originsOf = async (userId: string) => (await sql`select from known_origins where user_id = ${userId}`).length;
const FEW = 'ASSURANCE_NOT_MET: the ID token shows no second factor';
const NEW = 'ASSURANCE_NOT_MET: the account was linked lately';

describe('an identity', () => {
  test('signs its user in, of many, and is remembered with its browser', async () => {
    await createUser();
    const userId = await createUser();
    await link(userId);
    await createUser();
    expect(await resultOf()).toBe(userId);
    expect(await originsOf(userId)).toBe(2);
  });

  test.each<[string, Columns]>([
    ['another issuer', { issuer: 'https://other.test' }],
    ['another subject', { subject: 'another' }],
  ])('of %s signs nobody in', async (_, columns) => {
    await link(await createUser(), columns);
    expect(await resultOf()).toBe(`code for ${email}`);
  });

  test('of a closed account is unknown', async () => {
    await link(await createUser({ deactivated_at: NOW }));
    expect(await resultOf()).toBe('UNKNOWN_IDENTITY');
  });

  test.each<[what: string, countsFrom: Date | null, shown: number, required: number, answer: 'done' | string]>([
    ['enough', null, 3, 3, 'done'],
    ['too little', null, 2, 3, FEW],
    ['enough for a second step here', null, 1, 2, 'SECOND_FACTOR_NEEDED'],
    ['enough, but lately', at(HOUR), 3, 3, NEW],
    ['one factor, lately', at(HOUR), 2, 1, 'done'],
    ['too little, lately', at(HOUR), 2, 3, FEW],
    ['enough since this instant', NOW, 3, 3, 'done'],
  ])('that shows %s', async (_, countsFrom, assurance, required, answer) => {
    await demand(required);
    const userId = await createUser();
    await link(userId, { counts_from: countsFrom });
    expect(await resultOf({ identity: { assurance } })).toBe(answer === 'done' ? userId : answer);
    const [intent] = await sql`select assurance from login_intents where id = ${loginIntentId}`;
    expect(intent?.assurance).toBe(answer === 'done' ? required : null);
  });

  test('whose provider has a problem says so', async () => {
    expect((await redeem()).problems).toEqual([]);
    authorizationId = randomUUID();
    expect((await redeem({ identity: { problem: 'no permission' } })).problems).toEqual(['no permission']);
  });
});

describe('an address', () => {
  const trust: Changes = { provider: { trustEmail: true, emailDomains: ['corp.test'] } };

  test('of a trusted provider finds its user, who gets the identity', async () => {
    const userId = await createUser({ email });
    expect(await resultOf(trust)).toBe(userId);
    expect(await sql`select user_id, provider from user_identities where subject = ${subject}`).toEqual([
      { user_id: userId, provider: 'acme' },
    ]);
  });

  test('of a trusted provider does not do without a second factor that is demanded', async () => {
    await demand(3);
    await createUser({ email });
    expect(await resultOf(trust)).toBe(FEW);
    // Nor does it make a user.
    [email, subject] = [`${randomUUID()}@corp.test`, randomUUID()];
    expect(await resultOf(trust)).toBe(FEW);
    expect(await sql`select from users where email = ${email}`).toEqual([]);
    expect(await resultOf({ ...trust, identity: { assurance: 3 } })).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each<[string, Changes]>([
    ['of a provider that is not trusted', {}],
    ['that is not verified', { ...trust, identity: { isEmailVerified: false } }],
    ['of another domain', { provider: { trustEmail: true, emailDomains: ['other.test'] } }],
  ])('%s needs a code', async (_, changes) => {
    await createUser({ email });
    expect(await resultOf(changes)).toBe(`code for ${email}`);
    expect(await sql`select from user_identities where subject = ${subject}`).toEqual([]);
  });

  test.each([[''], ['not an address']])('%j is none, also of a trusted provider', async (given) => {
    const changes = { provider: { trustEmail: true }, identity: { email: given } };
    expect(await resultOf(changes)).toBe('code for ');
  });

  test.each<[asksName: boolean, name: string, stored: string | null]>([
    [false, 'Ada', 'Ada'],
    [false, '', null],
    [false, 'x'.repeat(256), null],
    [true, 'Ada', 'Ada'],
  ])('signs somebody new up where names are asked: %s, with %j', async (asksName, name, stored) => {
    await setApplication({ ask_name: asksName });
    const userId = await resultOf({ ...trust, identity: { name } });
    expect(await sql`select email, name from users where id = ${userId}`).toEqual([{ email, name: stored }]);
    expect(await originsOf(userId)).toBe(2);
  });

  test('of somebody new needs a code where a name is asked, and there is none', async () => {
    await setApplication({ ask_name: true });
    expect(await resultOf({ ...trust, identity: { name: '' } })).toBe(`code for ${email}`);
  });

  test('of somebody new is unknown where nobody signs up', async () => {
    await setApplication({ allow_sign_up: false });
    expect(await resultOf(trust)).toBe('UNKNOWN_IDENTITY');
  });
});

describe('a code', () => {
  test('is asked for once, and the provider is asked once', async () => {
    const browser = { digest: randomBytes(32) };
    const before = asked;
    for (let time = 0; time < 2; time++) expect(await resultOf({ browser })).toBe(`code for ${email}`);
    expect(asked - before).toBe(1);
    expect(await sql`select provider, expires_at from proved_identities where id = ${authorizationId}`).toEqual([
      { provider: 'acme', expires_at: at(HOUR) },
    ]);
  });

  test.each<[string, prepare: () => unknown, changes?: Changes]>([
    ['nobody gets codes', () => {}, { hasEmail: false }],
    ['the application wants none', () => setApplication({ login_methods: ['acme'] })],
    ['more than one factor is demanded', () => demand(2)],
  ])('is not asked for where %s', async (_, prepare, changes) => {
    await prepare();
    expect(await resultOf(changes)).toBe('UNKNOWN_IDENTITY');
  });
});

describe('the provider is asked', () => {
  const REFUSED = 'TOO_MANY_SIGN_INS';
  const answersOf = async (count: number, addressOf: (index: number) => string) => {
    const answers: string[] = [];
    for (let index = 0; index < count; index++) {
      authorizationId = randomUUID();
      answers.push(await resultOf({ browser: { address: addressOf(index) } }));
    }
    return answers.map((answer) => answer === REFUSED);
  };

  test('sixty times at once for a network, and no more', async () => {
    const before = asked;
    expect(await answersOf(62, () => '192.0.2.1')).toEqual([...Array(60).fill(false), true, true]);
    expect(asked - before).toBe(60);
  });

  test('three hundred times at once for a site', async () => {
    const ask = (index: number) => {
      const browser = newBrowser({ address: `2001:db8:0:${(index % 200).toString(16)}::1` });
      return reason(requireProviderPermit(callAt(), codes, browser));
    };
    const answers = [];
    for (let index = 0; index < 302; index++) answers.push(await ask(index));
    expect(answers).toEqual([...Array(300).fill('done'), REFUSED, REFUSED]);
  });
});
