/** A service with a login page, an application, and browsers at any step of a login. */
import { expect } from 'vitest';
import type { FullConfig } from '../../src/modules/modules.ts';
import { TestClock } from './clock.ts';
import { type BegunLogin, beginLogin, formOf, LOGIN_CONFIG, LoginBrowser, type LoginPage } from './login-browser.ts';
import { Mailbox, wrongCode } from './mail-server.ts';
import {
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
  type TestServiceOptions,
  type TestUser,
} from './service.ts';
import { Wallet } from './wallet.ts';

/** Which browser opens which login. What is missing is new, or the fixture's own. */
export interface Arrival {
  readonly at?: TestService;
  readonly of?: Tenant;
  readonly browser?: LoginBrowser;
  readonly login?: BegunLogin;
}

/** A browser on the page where a person chooses how to sign in. */
export interface Arrived {
  readonly browser: LoginBrowser;
  readonly login: BegunLogin;
  readonly page: LoginPage;
}

/** A browser that completes its login with `submit`, at another replica if that is given. */
export type Ready = Awaited<ReturnType<LoginFixture['readyByEmail'] | LoginFixture['readyByWallet']>>;
export type AskedForCode = Awaited<ReturnType<LoginFixture['askForCode']>>;
export type AskedForMessage = Awaited<ReturnType<LoginFixture['askForMessage']>>;

interface LoginFixtureOptions extends TestServiceOptions {
  readonly start?: Date;
  readonly name?: string;
  readonly redirectUris?: string[];
}

export class LoginFixture implements AsyncDisposable {
  readonly clock: TestClock;
  readonly mailbox: Mailbox;
  readonly service: TestService;
  readonly tenant: Tenant;

  private constructor(clock: TestClock, mailbox: Mailbox, service: TestService, tenant: Tenant) {
    this.clock = clock;
    this.mailbox = mailbox;
    this.service = service;
    this.tenant = tenant;
  }

  /** `name` and `redirectUris` are the application's; the clock stands still at `start`. */
  static async open({ start, name, redirectUris, config, ...options }: LoginFixtureOptions = {}) {
    const clock = new TestClock(start);
    const mailbox = new Mailbox();
    const overrides = { clock: clock.read, sendMail: mailbox.sendMail, config: { ...LOGIN_CONFIG, ...config } };
    const service = await startTestService({ ...options, ...overrides });
    const tenant = await createTenant(service, { ...(name && { name }), ...(redirectUris && { redirectUris }) });
    return new LoginFixture(clock, mailbox, service, tenant);
  }

  /** Starts another instance on the same database, with the same clock, mailbox and secrets. */
  startReplica(config: Partial<FullConfig> = {}): Promise<TestService> {
    const { database, config: like } = this.service;
    const overrides = { clock: this.clock.read, sendMail: this.mailbox.sendMail };
    return startTestService({ database, like, ...overrides, config: { ...LOGIN_CONFIG, ...config } });
  }

  readonly close = () => this.service.close();
  readonly [Symbol.asyncDispose] = this.close;

  async arrive({ at = this.service, of = this.tenant, ...by }: Arrival = {}): Promise<Arrived> {
    // The newest of several codes, or messages, must be unique.
    this.clock.advance(1);
    const browser = by.browser ?? new LoginBrowser(at);
    const login = by.login ?? (await beginLogin(at, of));
    return { browser, login, page: await browser.open(login.path) };
  }

  /** Returns a browser on the page for the code. `enter` submits one, to another replica if that is given. */
  async askForCode(by: Arrival & { user?: TestUser } = {}) {
    const user = by.user ?? (await createTestUser(this.service));
    const arrived = await this.arrive(by);
    const { browser, page } = arrived;
    const codePage = await browser.submit(page, '/login/email', { email: user.email });
    expect(codePage).toMatchObject({ heading: 'Check your e-mail', alert: '' });
    const enter = (code: string, at?: TestService) => browser.at(at).submit(codePage, '/login/code', { code });
    return { ...arrived, user, codePage, code: this.mailbox.codeFor(user.email), enter };
  }

  /** Returns a browser with a message for its wallet. `send` submits a signature. */
  async askForMessage(address: string, by: Arrival = {}) {
    const arrived = await this.arrive(by);
    const { browser, page } = arrived;
    const send = (signature: string, at?: TestService) => browser.at(at).submit(page, '/login/wallet', { signature });
    return { ...arrived, message: await this.challenge(arrived, address), send };
  }

  /** Returns the message that the wallet must sign. */
  async challenge({ browser, page }: Pick<Arrived, 'browser' | 'page'>, address: string): Promise<string> {
    const { fields } = formOf(page, '/login/wallet');
    const { status, body, headers } = await browser.post('/login/wallet/challenge', { ...fields, address });
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json' });
    return JSON.parse(body).message;
  }

  /** Creates a user whose address is spelled as given. */
  async createWalletUser(spell: (wallet: Wallet) => string = ({ address }) => address) {
    const wallet = new Wallet();
    return { wallet, user: await createTestUser(this.service, { walletAddress: spell(wallet) }) };
  }

  async isCompleted(loginIntentId: string): Promise<boolean> {
    const [row] = await this.service.database.sql`select completed_at from login_intents where id = ${loginIntentId}`;
    return row?.completed_at !== null;
  }

  /** Expects the form to be shown again with the alert, and the login to be open still. */
  async expectRefused({ login }: Pick<Arrived, 'login'>, reply: LoginPage, alert: string): Promise<void> {
    expect(reply).toMatchObject({ status: 200, alert, location: undefined });
    expect(await this.isCompleted(login.loginIntentId)).toBe(false);
  }

  /** Enters so many wrong codes, of five allowed tries. */
  async readyByEmail(by: Arrival & { user?: TestUser } = {}, misses = 0) {
    const asked = await this.askForCode(by);
    for (let miss = 1; miss <= misses; miss++) await asked.enter(wrongCode(asked.code, miss));
    return { ...asked, submit: (at?: TestService) => asked.enter(asked.code, at) };
  }

  async readyByWallet() {
    const { wallet, user } = await this.createWalletUser();
    const asked = await this.askForMessage(wallet.address);
    const signature = wallet.sign(asked.message);
    return { ...asked, user, submit: (at?: TestService) => asked.send(signature, at) };
  }
}
