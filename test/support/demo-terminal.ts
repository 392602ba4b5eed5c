/** `npm start` without settings, as a developer sees it in a terminal. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { LoginBrowser, type LoginPage } from './login-browser.ts';
import { type Main, startMain } from './process.ts';

export class DemoTerminal implements AsyncDisposable {
  readonly #main: Main;

  private constructor(main: Main) {
    this.#main = main;
  }

  /** Starts it with its data below the directory. */
  static async start(directory: string): Promise<DemoTerminal> {
    return new DemoTerminal(await startMain({ env: { PORT: '0', DATA_DIR: join(directory, 'data') } }));
  }

  get url(): string {
    return this.#main.url;
  }

  /** The user whom it suggests to sign in as. */
  get email(): string {
    return this.#find(/^Sign in as (\S+),/m);
  }

  /** Opens the login page that it prints. */
  async openLogin(): Promise<{ browser: LoginBrowser; page: LoginPage }> {
    const { origin, pathname, search } = new URL(this.#find(/^(http\S*\/login\?intent=\S+)$/m));
    const browser = new LoginBrowser({ url: origin });
    return { browser, page: await browser.open(pathname + search) };
  }

  /** Signs in with the code that it prints, and returns the page of the demo application. */
  async signIn(): Promise<LoginPage> {
    const { browser, page } = await this.openLogin();
    const codePage = await browser.submit(page, '/login/email', { email: this.email });
    const printed = new RegExp(`^ *E-MAIL to ${this.email}: (\\d{6}) is your code for Demo$`, 'm');
    await expect.poll(() => this.#main.stdout).toMatch(printed);
    return this.follow(browser, await browser.submit(codePage, '/login/code', { code: this.#find(printed) }));
  }

  /** Follows a redirect to the demo application. */
  async follow(browser: LoginBrowser, { status, location = '' }: LoginPage): Promise<LoginPage> {
    expect(status).toBe(303);
    const { origin, pathname, search } = new URL(location);
    expect(origin).toBe(this.url.replace('localhost', '127.0.0.1'));
    expect(pathname).toBe('/demo/callback');
    return browser.open(pathname + search);
  }

  close(): Promise<number | null> {
    return this.#main.end('SIGTERM');
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#main[Symbol.asyncDispose]();
  }

  #find(pattern: RegExp): string {
    const found = pattern.exec(this.#main.stdout)?.[1];
    if (!found) throw new Error(`No ${pattern} in: ${this.#main.stdout}`);
    return found;
  }
}
