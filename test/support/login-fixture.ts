/** A service with a login page, an application, and people on their way to it. */
import { expect } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { TestClock } from './clock.ts';
import { type BegunLogin, beginLogin, formOf, LOGIN_CONFIG, LoginBrowser, type LoginPage } from './login-browser.ts';
import { Mailbox, wrongCode } from './mailbox.ts';
import {
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from './service.ts';
import { Wallet } from './wallet.ts';

/** Who comes to the page, and where; what is left out is new, or the fixture's own. */
export interface Arrival {
  readonly at?: TestService;
  readonly of?: Tenant;
  readonly browser?: LoginBrowser;
  readonly login?: BegunLogin;
}

/** A browser on the page where one chooses how to sign in. */
export interface Arrived {
  readonly browser: LoginBrowser;
  readonly login: BegunLogin;
  readonly page: LoginPage;
}

/** A browser that has been shown where to type the code. */
export interface AskedForCode extends Arrived {
  readonly user: TestUser;
  readonly codePage: LoginPage;
  /** The right one. */
  readonly code: string;
}

/** A browser that has been given a message to sign. */
export interface AskedForMessage extends Arrived {
  readonly message: string;
}

/** A browser with all it takes to complete its login. */
export interface Ready {
  readonly browser: LoginBrowser;
  readonly login: BegunLogin;
  readonly user: TestUser;
  /** Sends the form that completes it, to another replica where one is named. */
  submit(at?: TestService): Promise<LoginPage>;
}

export class LoginFixture implements AsyncDisposable {
  readonly clock: TestClock;
  readonly mailbox: Mailbox;
  readonly service: TestService;
  readonly tenant: Tenant;

  private constructor(parts: Pick<LoginFixture, 'clock' | 'mailbox' | 'service' | 'tenant'>) {
    this.clock = parts.clock;
    this.mailbox = parts.mailbox;
    this.service = parts.service;
    this.tenant = parts.tenant;
  }

  /** With an application of that name and with those redirect URIs. */
  static async open({
    start = new Date(),
    ...application
  }: {
    start?: Date;
    name?: string;
    redirectUris?: string[];
  } = {}): Promise<LoginFixture> {
    const clock = new TestClock(start);
    const mailbox = new Mailbox();
    const service = await startTestService({ clock: clock.read, deliver: mailbox.deliver, config: LOGIN_CONFIG });
    return new LoginFixture({ clock, mailbox, service, tenant: await createTenant(service, application) });
  }

  /** Another instance on the same database, with the same clock, mailbox and secrets. */
  startReplica(config: Partial<Config> = {}): Promise<TestService> {
    const { database, config: like } = this.service;
    const overrides = { clock: this.clock.read, deliver: this.mailbox.deliver };
    return startTestService({ database, like, ...overrides, config: { ...LOGIN_CONFIG, ...config } });
  }

  readonly close = () => this.service.close();
  readonly [Symbol.asyncDispose] = this.close;

  async arrive({ at = this.service, of = this.tenant, ...by }: Arrival = {}): Promise<Arrived> {
    // So that of several codes, or messages, one is the newest.
    this.clock.advance(1);
    const browser = by.browser ?? new LoginBrowser(at);
    const login = by.login ?? (await beginLogin(at, of));
    return { browser, login, page: await browser.open(login.path) };
  }

  async askForCode(by: Arrival & { user?: TestUser } = {}): Promise<AskedForCode> {
    const user = by.user ?? (await createTestUser(this.service));
    const arrived = await this.arrive(by);
    const codePage = await arrived.browser.submit(arrived.page, '/login/email', { email: user.email });
    expect(codePage).toMatchObject({ heading: 'Check your e-mail', alert: '' });
    return { ...arrived, user, codePage, code: this.mailbox.codeFor(user.email) };
  }

  async askForMessage(address: string, by: Arrival = {}): Promise<AskedForMessage> {
    const arrived = await this.arrive(by);
    return { ...arrived, message: await this.challenge(arrived, address) };
  }

  /** The message that the wallet is to sign. */
  async challenge({ browser, page }: Pick<Arrived, 'browser' | 'page'>, address: string): Promise<string> {
    const { fields } = formOf(page, '/login/wallet');
    const { status, body, headers } = await browser.post('/login/wallet/challenge', { ...fields, address });
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'application/json' });
    return JSON.parse(body).message;
  }

  async isCompleted(loginIntentId: string): Promise<boolean> {
    const [row] = await this.service.database.sql`select completed_at from login_intents where id = ${loginIntentId}`;
    return row?.completed_at !== null;
  }

  async readyByEmail(by: Arrival = {}): Promise<Ready> {
    const { browser, codePage, code, ...ready } = await this.askForCode(by);
    return { ...ready, browser, submit: (at) => browser.at(at).submit(codePage, '/login/code', { code }) };
  }

  /** By the last of five tries. */
  async readyByFifthTry(): Promise<Ready> {
    const { browser, codePage, code, ...ready } = await this.askForCode();
    for (let miss = 1; miss <= 4; miss++) {
      await browser.submit(codePage, '/login/code', { code: wrongCode(code, miss) });
    }
    return { ...ready, browser, submit: (at) => browser.at(at).submit(codePage, '/login/code', { code }) };
  }

  async readyByWallet(): Promise<Ready> {
    const wallet = new Wallet();
    const user = await createTestUser(this.service, { walletAddress: wallet.address });
    const { browser, page, message, login } = await this.askForMessage(wallet.address);
    const signature = wallet.sign(message);
    return { browser, login, user, submit: (at) => browser.at(at).submit(page, '/login/wallet', { signature }) };
  }
}
