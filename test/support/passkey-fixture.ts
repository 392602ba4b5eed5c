/** The domain of passkeys on a real database, without pages: sign-ins, challenges and software passkeys. */
import { Database } from '../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../src/domain/audit/audit-event.ts';
import type { Call, CountName } from '../../src/domain/core/call.ts';
import { completeLogin } from '../../src/domain/login/complete-login.ts';
import { deriveLoginCodeKeys } from '../../src/domain/login/login-code.ts';
import { SignUpRules } from '../../src/domain/login/sign-up-rules.ts';
import { type Browser, toSignInOrigin } from '../../src/domain/sessions/browser.ts';
import { AuthTokens } from '../../src/domain/tokens/auth-tokens.ts';
import { createChallenge } from '../../src/modules/passkeys/domain/challenge.ts';
import { toUserHandle } from '../../src/modules/passkeys/domain/creation-options.ts';
import { listOwnPasskeys } from '../../src/modules/passkeys/domain/list-own-passkeys.ts';
import { redeemPasskey } from '../../src/modules/passkeys/domain/redeem-passkey.ts';
import { createRelyingParty, type RelyingParty } from '../../src/modules/passkeys/domain/relying-party.ts';
import { storePasskey } from '../../src/modules/passkeys/domain/store-passkey.ts';
import { TestClock } from './clock.ts';
import { LAYOUT } from './database.ts';
import { newAddress } from './login-browser.ts';
import { newBrowser } from './new-browser.ts';
import { type Oddities, SoftwarePasskey } from './passkey.ts';
import {
  createLoginIntent,
  createTenant,
  createTestUser,
  PUBLIC_URL,
  startTestService,
  type Tenant,
  type TestService,
} from './service.ts';

interface Use {
  readonly browser: Browser;
  readonly loginIntentId: string;
}

export class PasskeyFixture implements AsyncDisposable {
  readonly clock: TestClock;
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly relyingParty: RelyingParty;
  readonly tokens: AuthTokens;
  /** What the calls have counted for the charts of operators. */
  readonly counted: CountName[] = [];
  readonly #database: Database;
  readonly #encryptionKeys: readonly Buffer[];

  private constructor(clock: TestClock, service: TestService, tenant: Tenant, tokens: AuthTokens) {
    [this.clock, this.service, this.tenant, this.tokens] = [clock, service, tenant, tokens];
    this.#encryptionKeys = service.config.secrets.encryptionKeys ?? [];
    this.relyingParty = createRelyingParty(`${PUBLIC_URL}/login`, undefined, this.#encryptionKeys);
    this.#database = new Database(service.database.url, {
      clock: this.clock.read,
      connections: 4,
      layout: LAYOUT,
      statementTimeoutMs: 60_000,
    });
  }

  static async open(): Promise<PasskeyFixture> {
    const clock = new TestClock();
    const service = await startTestService({ clock: clock.read });
    const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);
    return new PasskeyFixture(clock, service, await createTenant(service), tokens);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database.close();
    await this.service.close();
  }

  get call(): Call {
    const now = this.clock.read();
    const run = this.#database.within(Number.POSITIVE_INFINITY);
    const count = (name: CountName) => void this.counted.push(name);
    return { run: withAudit(run, { ...BY_USHER, action: 'test', now }), now, count };
  }

  newBrowser(): Browser {
    return newBrowser({ address: newAddress() });
  }

  /** Begins a login in a browser. */
  async begin(browser = this.newBrowser()): Promise<Use> {
    return { browser, loginIntentId: await createLoginIntent(this.service, this.tenant) };
  }

  /** Signs the user in by code, in a browser. */
  async signIn(user: { readonly id: string }, begun?: Use): Promise<Use> {
    const use = begun ?? (await this.begin());
    const { loginIntentId, browser } = use;
    const how = { method: 'email', ...toSignInOrigin(browser) } as const;
    await completeLogin(this.call, this.tokens, { loginIntentId, userId: user.id }, { how });
    return use;
  }

  /** Returns what the page asks the passkey for. */
  askedBy({ browser, loginIntentId }: Use, userId?: string, { keys, rpId, origin } = this.relyingParty) {
    const challengeUse = userId
      ? ({ purpose: 'passkey create', loginIntentId, browser, userId } as const)
      : ({ purpose: 'passkey get', loginIntentId, browser } as const);
    const challenge = createChallenge(keys, challengeUse, this.clock.read());
    return { rpId, origin, challenge, userHandle: userId ? toUserHandle(userId) : '' };
  }

  /** Adds a passkey to the user, who has just signed in. */
  async add(
    user: { readonly id: string },
    { passkey = new SoftwarePasskey(), odd, use }: { passkey?: SoftwarePasskey; odd?: Oddities; use?: Use } = {},
  ): Promise<SoftwarePasskey> {
    const signedIn = use ?? (await this.signIn(user));
    await this.store(signedIn, passkey.create(this.askedBy(signedIn, user.id), odd));
    return passkey;
  }

  store({ browser, loginIntentId }: Use, credential: string, relyingParty = this.relyingParty) {
    return storePasskey(this.call, relyingParty, browser, { loginIntentId, credential }, () => 'Passkey');
  }

  redeem({ browser, loginIntentId }: Use, credential: string, relyingParty = this.relyingParty) {
    const codes = { keys: deriveLoginCodeKeys(this.#encryptionKeys), limitFactor: 1 };
    return redeemPasskey(
      this.call,
      { codes, demandsPasskey: () => false, relyingParty, signUps: new SignUpRules(), tokens: this.tokens },
      browser,
      {
        loginIntentId,
        credential,
      },
    );
  }

  /** Returns a user with a passkey. */
  async createOwner(options: ConstructorParameters<typeof SoftwarePasskey>[0] = {}) {
    const user = await createTestUser(this.service);
    return { user, passkey: await this.add(user, { passkey: new SoftwarePasskey(options) }) };
  }

  listOf(user: { readonly id: string }) {
    return listOwnPasskeys(this.call, { userId: user.id }, this.relyingParty);
  }
}
