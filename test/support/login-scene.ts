/** Open logins for tables of conditions: each row changes one thing of what is good otherwise. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach } from 'vitest';
import {
  deriveLoginCode,
  deriveLoginCodeKeys,
  digestLoginCode,
  type LoginCodeKeys,
} from '../../src/domain/login/login-code.ts';
import { toSignInOrigin } from '../../src/domain/sessions/browser.ts';
import { AuthTokens } from '../../src/domain/tokens/auth-tokens.ts';
import { at, openDomain } from './domain-scene.ts';
import { generateIssuerKey } from './issuer.ts';

export const MINUTE = 60_000;
export const address = () => `${randomUUID()}@example.com`;

export type Columns = Readonly<Record<string, unknown>>;

/** Opens an empty database. `begin` gets a new login before each test of the file. */
export async function openLoginScenes(begin: (scene: LoginScene) => void) {
  const domain = await openDomain();
  const { sql, insert, createUser, createApplication } = domain;
  const keys = deriveLoginCodeKeys([randomBytes(32)]);
  const { privateKey, kid, alg } = generateIssuerKey('EdDSA', 'key');
  /** Whether the codes of the protocol, by which a `response_mode` is answered, still work. */
  const codes = { areLive: true };
  const tokens = await AuthTokens.create(
    'https://usher.test',
    [{ ...privateKey.export({ format: 'jwk' }), kid, alg }],
    {
      toCompletedUrl: ({ loginIntentId: id }) => `https://app.test/?code=${id}`,
      toErrorUrl: (_, error) => `https://app.test/?error=${error}`,
      isLive: () => codes.areLive,
    },
  );

  let scene: LoginScene;
  beforeEach(async () => {
    codes.areLive = true;
    scene = await createScene();
    begin(scene);
  });

  async function createScene() {
    const [email, wallet, clientId, answer] = [address(), randomUUID(), randomUUID(), randomBytes(32)];
    const [here, elsewhere] = [await createApplication({ client_id: clientId }), await createApplication()];
    const [userId, stranger] = [await createUser({ email, wallet_address: wallet.toUpperCase() }), await createUser()];
    const [{ id: loginIntentId }, { id: untouched }] = [await addIntent(here), await addIntent(here)];
    const browser = {
      ...{ digest: randomBytes(32), address: '192.0.2.1', userAgent: 'Browser' },
      ...{ answerDigest: randomBytes(32), knownAnswers: [answer] },
    };
    const origin = toSignInOrigin(browser);
    return {
      ...{ email, wallet, clientId, here, elsewhere, userId, stranger, loginIntentId, untouched },
      ...{ browser, answer, origin },
    };
  }
  const addIntent = (application_id: string) => insert('login_intents', { application_id });

  const set = (table: string, columns: Columns, id: string) =>
    sql`update ${sql(table)} set ${sql(columns as never)} where id = ${id}`;
  const setApplication = (columns: Columns) => set('applications', columns, scene.here);
  const identity = () => ({ issuer: 'https://issuer.test', subject: scene.userId });
  const changes = {
    setIntent: (columns: Columns) => set('login_intents', columns, scene.loginIntentId),
    setApplication,
    setUser: (columns: Columns) => set('users', columns, scene.userId),
    restrict: () => setApplication({ restrict_access: true }),
    identity,
    /** Gives the user the identity, unless the columns say otherwise. */
    identify: (columns: Columns = {}) =>
      insert('user_identities', { ...identity(), user_id: scene.userId, ...columns }),
  };
  /** Inserts a code of this login, which was sent and is live. Returns its row, and the code. */
  async function insertCode(columns: Columns = {}, of: LoginCodeKeys = keys) {
    const id = randomUUID();
    const code = deriveLoginCode(of, id, 6);
    const row = await insert('login_codes', {
      ...{ application_id: scene.here, login_intent_id: scene.loginIntentId, browser_digest: scene.browser.digest },
      ...{ id, email: scene.email, user_id: scene.userId, code_digest: digestLoginCode(of, id, code) },
      ...{ created_at: at(-MINUTE), ...columns },
    });
    return { ...row, code };
  }
  const readIntent = async (id = scene.loginIntentId) => (await sql`select * from login_intents where id = ${id}`)[0];
  return { ...domain, ...changes, insertCode, tokens, codes, keys, readIntent };
}

export interface LoginScene {
  readonly email: string;
  /** In lower case. The user has it in upper case. */
  readonly wallet: string;
  readonly clientId: string;
  /** The application of the login. */
  readonly here: string;
  readonly elsewhere: string;
  readonly userId: string;
  readonly stranger: string;
  readonly loginIntentId: string;
  /** Another login at the application. */
  readonly untouched: string;
  /** Has completed a login with `answer`. */
  readonly browser: {
    digest: Buffer;
    address: string;
    userAgent: string;
    answerDigest: Buffer;
    knownAnswers: Buffer[];
  };
  readonly answer: Buffer;
  readonly origin: ReturnType<typeof toSignInOrigin>;
}
