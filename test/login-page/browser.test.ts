/** The whole login in a real browser. */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CALLBACK, ClientApplication } from '../support/client-application.ts';
import { MINUTE } from '../support/clock.ts';
import { beginLogin, LOGIN_CONFIG, LoginBrowser } from '../support/login-browser.ts';
import { Mailbox, wrongCode } from '../support/mailbox.ts';
import {
  adminClient,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import { Wallet } from '../support/wallet.ts';

const CHROMIUM = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';
const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const NAVIGATION_TIMEOUT_MS = 5_000;

/** EIP-1193: the user said no. */
const USER_REJECTED = 4001;

/** What a wallet answers to a request: a result, or the code of an error. */
type WalletAnswer = { result: unknown } | { code: number };
type WalletHandler = (method: string, parameters: readonly string[]) => WalletAnswer | Promise<WalletAnswer>;

// Where Chromium is missing CI fails, and a machine of a person's does without.
describe.skipIf(!existsSync(CHROMIUM) && !process.env.CI)('in Chromium', () => {
  const mailbox = new Mailbox();
  let laterMs = 0;
  let service: TestService;
  let tenant: Tenant;
  let application: ClientApplication;
  let chrome: Browser;
  const contexts: BrowserContext[] = [];

  beforeAll(async () => {
    service = await startTestService({
      clock: () => new Date(Date.now() + laterMs),
      deliver: mailbox.deliver,
      config: { ...LOGIN_CONFIG, publicUrl: undefined },
    });
    tenant = await createTenant(service, { name: 'The Corner Shop', redirectUris: [CALLBACK] });
    const issuer = `http://localhost:${service.port}`;
    application = await ClientApplication.start({ url: service.url, issuer, tenant });
    chrome = await chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_ARGS });
  }, 60_000);
  afterEach(async () => {
    for (const context of contexts.splice(0)) await context.close();
    laterMs = 0;
  });
  afterAll(async () => {
    await chrome?.close();
    await application?.[Symbol.asyncDispose]();
    await service?.close();
  });

  /** A page of a browser that nobody has used before; what goes wrong in it is in `problems`. */
  async function openBrowser(options: BrowserContextOptions = {}) {
    const context = await chrome.newContext({ viewport: { width: 360, height: 740 }, ...options });
    contexts.push(context);
    context.setDefaultTimeout(NAVIGATION_TIMEOUT_MS);
    // Each browser calls from an address of its own.
    await context.setExtraHTTPHeaders({
      'x-forwarded-for': `198.19.0.${contexts.length + Math.floor(Math.random() * 200)}`,
    });
    const problems: string[] = [];
    const hosts = new Set<string>();
    context.on('console', (message) => {
      // Chromium reports every status from 400 on.
      if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) problems.push(message.text());
    });
    context.on('weberror', (error) => void problems.push(String(error.error())));
    context.on('request', (request) => void hosts.add(new URL(request.url()).host));
    const page = await context.newPage();
    return { context, page, problems, hosts };
  }

  /** On the login page, sent there by the application. */
  async function openLogin(options: BrowserContextOptions = {}) {
    const opened = await openBrowser(options);
    await opened.page.goto(application.url);
    expect(await opened.page.locator('h1').textContent()).toBe('Sign in to The Corner Shop');
    return { ...opened, authUrl: opened.page.url() };
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const alertOf = (page: Page) => page.getByRole('alert');
  const hasFocus = (page: Page, selector: string) =>
    page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`);

  async function typeEmail(page: Page, user: Pick<TestUser, 'email'>): Promise<string> {
    await page.getByLabel('E-mail address').fill(user.email);
    await button(page, 'Continue with e-mail').click();
    await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
    return mailbox.codeFor(user.email);
  }

  async function typeCode(page: Page, code: string): Promise<void> {
    await page.getByLabel('Code').fill(code);
    await button(page, 'Sign in').click();
  }

  /** What the application shows at the end. */
  async function arrive(page: Page): Promise<{ title: string | null; details: unknown }> {
    await page.waitForURL(`${application.url}callback?**`);
    const details = JSON.parse((await page.locator('pre').textContent()) ?? '');
    return { title: await page.locator('h1').textContent(), details };
  }

  async function expectSignedIn(page: Page, { email, walletAddress }: TestUser): Promise<void> {
    expect(await arrive(page)).toEqual({
      title: 'Signed in',
      details: {
        user: expect.objectContaining({ email, walletAddress }),
        session: { id: expect.any(String), createdAt: expect.any(String) },
      },
    });
  }

  /** Gives the browser a wallet; to be called before its page is opened. */
  async function giveWallet(context: BrowserContext, answer: WalletHandler): Promise<void> {
    await context.exposeFunction('askWallet', answer);
    await context.addInitScript(`
      window.ethereum = {
        async request({ method, params = [] }) {
          const answer = await window.askWallet(method, params);
          if ('code' in answer) throw Object.assign(new Error('No'), { code: answer.code });
          return answer.result;
        },
      };`);
  }

  const holderOf =
    (wallet: Wallet): WalletHandler =>
    (method, [first = '']) => {
      if (method === 'eth_requestAccounts') return { result: [wallet.checksumAddress] };
      if (method === 'personal_sign') return { result: wallet.sign(Buffer.from(first.slice(2), 'hex').toString()) };
      return { code: 4200 };
    };

  async function createWalletUser() {
    const wallet = new Wallet();
    return { wallet, user: await createTestUser(service, { walletAddress: wallet.address }) };
  }

  /** On the login page, in a browser with a wallet. */
  async function openWithWallet(answer: WalletHandler) {
    const opened = await openBrowser();
    await giveWallet(opened.context, answer);
    await opened.page.goto(application.url);
    return opened;
  }

  describe('a person', () => {
    it('signs in with a code from an e-mail, and the application exchanges the token', async () => {
      const { page, problems, hosts, authUrl } = await openLogin();
      const user = await createTestUser(service);
      expect(new URL(authUrl).pathname).toBe('/login');
      const code = await typeEmail(page, user);
      expect(await hasFocus(page, '#code')).toBe(true);
      expect(await page.getByLabel('Code').getAttribute('autocomplete')).toBe('one-time-code');
      await typeCode(page, code);
      await expectSignedIn(page, user);
      expect(problems).toEqual([]);
      expect([...hosts].sort()).toEqual([new URL(application.url).host, `localhost:${service.port}`].sort());
    });

    it('signs in with a wallet, which is shown the message it signs', async () => {
      const { wallet, user } = await createWalletUser();
      const asked: [string, readonly string[]][] = [];
      const { page, problems } = await openWithWallet((method, parameters) => {
        asked.push([method, parameters]);
        return holderOf(wallet)(method, parameters);
      });
      const loginIntentId = new URL(page.url()).searchParams.get('intent');
      await button(page, 'Continue with a wallet').click();
      await expectSignedIn(page, user);
      expect(asked.map(([method]) => method)).toEqual(['eth_requestAccounts', 'personal_sign']);
      const [, [hex = '', address] = []] = asked[1] ?? [];
      expect(address).toBe(wallet.checksumAddress);
      const message = Buffer.from(hex.slice(2), 'hex').toString();
      expect(message).toContain(
        `localhost:${service.port} wants you to sign in with your Ethereum account:\n${address}`,
      );
      expect(message).toContain(`Request ID: ${loginIntentId}`);
      expect(problems).toEqual([]);
    });

    it('cancels, and the application is told', async () => {
      const { page } = await openLogin();
      await button(page, 'Cancel').click();
      expect(await arrive(page)).toEqual({ title: 'Not signed in', details: 'access_denied' });
    });

    it('signs in with JavaScript off, in forms only, after a wrong code', async () => {
      const { page } = await openLogin({ javaScriptEnabled: false });
      expect(await button(page, 'Continue with a wallet').isVisible()).toBe(false);
      const excuse = page.locator('noscript p');
      expect(await excuse.isVisible()).toBe(true);
      expect(await excuse.textContent()).toBe('To sign in with a wallet, allow JavaScript for this page.');
      const user = await createTestUser(service);
      const code = await typeEmail(page, user);
      await typeCode(page, wrongCode(code));
      await page.getByText('That is not the code we sent.').waitFor();
      await typeCode(page, code);
      await expectSignedIn(page, user);
    });

    it('loads the page again after a wrong code, with JavaScript off, and nothing is sent again', async () => {
      const { page } = await openLogin({ javaScriptEnabled: false });
      const user = await createTestUser(service);
      const code = await typeEmail(page, user);
      await typeCode(page, wrongCode(code));
      await page.getByText('That is not the code we sent.').waitFor();
      const methods: string[] = [];
      page.on('request', (request) => void methods.push(request.method()));
      await page.reload();
      await page.reload();
      expect(methods).toEqual(['GET', 'GET']);
      await typeCode(page, code);
      await expectSignedIn(page, user);
    });

    it('cancels with JavaScript off', async () => {
      const { page } = await openLogin({ javaScriptEnabled: false });
      await button(page, 'Cancel').click();
      expect(await arrive(page)).toEqual({ title: 'Not signed in', details: 'access_denied' });
    });

    it('signs in with the keyboard only', async () => {
      const { page } = await openLogin();
      const user = await createTestUser(service);
      const focused = () =>
        page.evaluate<string>('document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent');
      const outline = () => page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle');
      const order = [];
      for (let stop = 0; stop < 4; stop++) {
        await page.keyboard.press('Tab');
        order.push(await focused());
        expect(await outline()).not.toBe('none');
      }
      expect(order).toEqual(['E-mail address', 'Continue with e-mail', 'Continue with a wallet', 'Cancel']);
      for (let back = 0; back < 3; back++) await page.keyboard.press('Shift+Tab');
      await page.keyboard.type(user.email);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
      await page.keyboard.type(mailbox.codeFor(user.email));
      await page.keyboard.press('Enter');
      await expectSignedIn(page, user);
    });

    it('finds the address still there after an error, which is announced and has the focus', async () => {
      const { page } = await openLogin();
      const user = await createTestUser(service);
      for (let count = 0; count < 5; count++) {
        const other = new LoginBrowser(service);
        const begun = await beginLogin(service, tenant, { redirectUri: CALLBACK });
        await other.submit(await other.open(begun.path), '/login/email', { email: user.email });
      }
      await page.getByLabel('E-mail address').fill(user.email);
      await button(page, 'Continue with e-mail').click();
      await page.getByText('Too many codes have been asked for.').waitFor();
      expect(await page.getByLabel('E-mail address').inputValue()).toBe(user.email);
      expect(await hasFocus(page, '[role=alert]')).toBe(true);
    });

    it('sees what is happening while the page waits, with nothing else to press', async () => {
      const { page } = await openLogin();
      const { promise: isShown, resolve: note } = Promise.withResolvers<unknown>();
      await page.exposeFunction('note', note);
      await page.evaluate(`new MutationObserver(() => {
        const buttons = [...document.querySelectorAll('button')];
        note([document.querySelector('[role=status]').textContent, buttons.map((button) => button.disabled)]);
      }).observe(document.querySelector('[role=status]'), { childList: true })`);
      await page.route('**/login/email', async (route) => {
        await isShown;
        await route.continue();
      });
      await page.getByLabel('E-mail address').fill('ada@example.com');
      await button(page, 'Continue with e-mail').click();
      expect(await isShown).toEqual(['Sending the code…', [true, true, true]]);
      await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
    });

    it('corrects a wrong code', async () => {
      const { page } = await openLogin();
      const user = await createTestUser(service);
      const code = await typeEmail(page, user);
      await typeCode(page, wrongCode(code));
      await page.getByText('That is not the code we sent.').waitFor();
      expect(await hasFocus(page, '[role=alert]')).toBe(true);
      await typeCode(page, code);
      await expectSignedIn(page, user);
    });

    it('goes back from the code to sign in another way', async () => {
      const { wallet, user } = await createWalletUser();
      const { page } = await openWithWallet(holderOf(wallet));
      await typeEmail(page, await createTestUser(service));
      await button(page, 'Sign in another way').click();
      await button(page, 'Continue with a wallet').click();
      await expectSignedIn(page, user);
    });
  });

  describe('a wallet', () => {
    it('that its owner declines to use is no error, and can be tried again', async () => {
      const { wallet, user } = await createWalletUser();
      let isWilling = false;
      const { page } = await openWithWallet((method, parameters) =>
        isWilling ? holderOf(wallet)(method, parameters) : { code: USER_REJECTED },
      );
      await button(page, 'Continue with a wallet').click();
      await page.getByText('You declined in your wallet. Nothing was signed.').waitFor();
      expect(await hasFocus(page, '[role=alert]')).toBe(true);
      isWilling = true;
      await button(page, 'Continue with a wallet').click();
      await expectSignedIn(page, user);
    });

    it('that declines to sign says so as well', async () => {
      const { wallet } = await createWalletUser();
      const { page } = await openWithWallet((method, parameters) =>
        method === 'personal_sign' ? { code: USER_REJECTED } : holderOf(wallet)(method, parameters),
      );
      await button(page, 'Continue with a wallet').click();
      await page.getByText('You declined in your wallet. Nothing was signed.').waitFor();
    });

    it('that is not there is missed, with what to do instead', async () => {
      const { page } = await openLogin();
      await page.getByLabel('E-mail address').fill('ada@example.com');
      await button(page, 'Continue with a wallet').click();
      expect(await alertOf(page).textContent()).toBe(
        'There is no wallet in this browser. Install one, or sign in with your e-mail address.',
      );
      expect(await page.getByLabel('E-mail address').inputValue()).toBe('ada@example.com');
    });

    it('that nobody has is named as the reason', async () => {
      const { page } = await openWithWallet(holderOf(new Wallet()));
      await button(page, 'Continue with a wallet').click();
      await page.getByText('No account has this wallet.').waitFor();
    });

    it('that fails is named as the reason', async () => {
      const { page } = await openWithWallet(() => ({ code: -32603 }));
      await button(page, 'Continue with a wallet').click();
      await page.getByText('Your wallet did not answer as expected. Try again.').waitFor();
    });

    it('is not to blame for what the browser has done: a cookie that is gone', async () => {
      const { wallet } = await createWalletUser();
      const { page, context } = await openWithWallet(holderOf(wallet));
      await context.clearCookies();
      await button(page, 'Continue with a wallet').click();
      await page.locator('[role=alert]:not(:empty)').waitFor();
      expect(await alertOf(page).textContent()).toContain('cookie');
    });

    it('is waited for visibly, with nothing else to press', async () => {
      const { wallet, user } = await createWalletUser();
      const { promise: consent, resolve: agree } = Promise.withResolvers<void>();
      const { page } = await openWithWallet(async (method, parameters) => {
        if (method === 'eth_requestAccounts') await consent;
        return holderOf(wallet)(method, parameters);
      });
      await button(page, 'Continue with a wallet').click();
      expect(await page.getByRole('status').textContent()).toBe('Waiting for your wallet…');
      const buttons = await page.getByRole('button').all();
      expect(buttons).toHaveLength(3);
      for (const each of buttons) expect(await each.isDisabled()).toBe(true);
      agree();
      await expectSignedIn(page, user);
    });
  });

  describe('the same browser', () => {
    it('that clicks twice is signed in once', async () => {
      const { page } = await openLogin();
      const user = await createTestUser(service);
      const code = await typeEmail(page, user);
      await page.getByLabel('Code').fill(code);
      await button(page, 'Sign in').dblclick();
      await expectSignedIn(page, user);
    });

    it('that clicks twice with JavaScript off is signed in once', async () => {
      const { page } = await openLogin({ javaScriptEnabled: false });
      const user = await createTestUser(service);
      const code = await typeEmail(page, user);
      await page.getByLabel('Code').fill(code);
      await button(page, 'Sign in').dblclick();
      await expectSignedIn(page, user);
    });

    it('that opens the page again arrives where it was sent before', async () => {
      const { page, authUrl } = await openLogin();
      const user = await createTestUser(service);
      await typeCode(page, await typeEmail(page, user));
      await expectSignedIn(page, user);
      const arrivedAt = page.url();
      await page.goto('about:blank');
      await page.goto(authUrl);
      await expectSignedIn(page, user);
      expect(page.url()).toBe(arrivedAt);
    });

    it('that reloads the callback is still signed in', async () => {
      const { page } = await openLogin();
      const user = await createTestUser(service);
      await typeCode(page, await typeEmail(page, user));
      await expectSignedIn(page, user);
      await page.reload();
      await expectSignedIn(page, user);
    });

    it('that goes back after a wallet has signed arrives where it was sent before', async () => {
      const { wallet, user } = await createWalletUser();
      const { page } = await openWithWallet(holderOf(wallet));
      await button(page, 'Continue with a wallet').click();
      await expectSignedIn(page, user);
      await page.goBack();
      await expectSignedIn(page, user);
    });

    it('that goes back after the code arrives where it was sent before', async () => {
      const { page } = await openLogin();
      const user = await createTestUser(service);
      await typeCode(page, await typeEmail(page, user));
      await expectSignedIn(page, user);
      await page.goBack();
      await expectSignedIn(page, user);
    });

    it('that goes back after a wrong code and the right one arrives where it was sent before', async () => {
      const { page } = await openLogin();
      const user = await createTestUser(service);
      const code = await typeEmail(page, user);
      await typeCode(page, code === '000000' ? '111111' : '000000');
      await page.locator('[role=alert]:not(:empty)').waitFor();
      await typeCode(page, code);
      await expectSignedIn(page, user);
      await page.goBack();
      await expectSignedIn(page, user);
    });

    it('that has signed in in one tab arrives from the other too, by e-mail', async () => {
      const { page, context, authUrl } = await openLogin();
      const other = await context.newPage();
      await other.goto(authUrl);
      const user = await createTestUser(service);
      await typeCode(page, await typeEmail(page, user));
      await expectSignedIn(page, user);
      await other.getByLabel('E-mail address').fill(user.email);
      await button(other, 'Continue with e-mail').click();
      await expectSignedIn(other, user);
    });

    it('that has signed in in one tab arrives from the other too, by wallet', async () => {
      const { wallet, user } = await createWalletUser();
      const { page, context } = await openWithWallet(holderOf(wallet));
      const other = await context.newPage();
      await other.goto(page.url());
      await button(page, 'Continue with a wallet').click();
      await expectSignedIn(page, user);
      await button(other, 'Continue with a wallet').click();
      await expectSignedIn(other, user);
    });
  });

  it('the page is not shown in a frame of another page', async () => {
    const { page, authUrl } = await openLogin();
    await page.goto(new URL('/nowhere', application.url).href);
    const textInFrameOf = (url: string) =>
      page
        .evaluate<void>(`new Promise((resolve) => {
        const frame = document.createElement('iframe');
        frame.onload = resolve;
        frame.src = ${JSON.stringify(url)};
        document.body.replaceChildren(frame);
      })`)
        .then(() => page.frames()[1]?.locator('body').innerText());
    expect(await textInFrameOf(new URL('/elsewhere', application.url).href)).toContain('Not found');
    expect(await textInFrameOf(authUrl)).not.toContain('Sign in');
  });

  /** Every page there is, and how a browser gets to it. */
  const states: readonly [name: string, heading: string, reach: (opened: Opened) => Promise<unknown>][] = [
    ['the choice', 'Sign in to', async () => {}],
    [
      'the choice with an alert',
      'Sign in to',
      async ({ page }) => {
        await button(page, 'Continue with a wallet').click();
        await page.getByText('There is no wallet in this browser.').waitFor();
      },
    ],
    ['the code', 'Check your e-mail', async ({ page }) => typeEmail(page, await createTestUser(service))],
    [
      'the code with an alert',
      'Check your e-mail',
      async ({ page }) => {
        const code = await typeEmail(page, await createTestUser(service));
        await typeCode(page, wrongCode(code));
        await page.getByText('That is not the code we sent.').waitFor();
      },
    ],
    [
      'an unknown login',
      'This sign-in is not known',
      async ({ page, authUrl }) => page.goto(new URL('/login?intent=1', authUrl).href),
    ],
    [
      'an expired login',
      'This sign-in has expired',
      async ({ page }) => {
        laterMs = 30 * MINUTE;
        await page.reload();
      },
    ],
    [
      'a completed login',
      'This sign-in has been used',
      async ({ page, authUrl }) => {
        const { id: userId } = await createTestUser(service);
        const loginIntentId = new URL(authUrl).searchParams.get('intent') ?? '';
        await adminClient(service).completeLogin({ loginIntentId, userId });
        await page.reload();
      },
    ],
    [
      'a form without its cookie',
      'Your browser did not send our cookie',
      async ({ page, context }) => {
        await context.clearCookies();
        await button(page, 'Cancel').click();
      },
    ],
  ];
  type Opened = Awaited<ReturnType<typeof openLogin>>;

  it.each(states)(
    '%s is accessible, light and dark, and fits 360 px at a zoom of 200 %',
    async (_name, heading, reach) => {
      const opened = await openLogin({ colorScheme: 'light' });
      const { page } = opened;
      await reach(opened);
      await page.getByRole('heading', { name: heading }).waitFor();
      await page.evaluate(axe.source);
      const backgrounds = new Set<string>();
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        backgrounds.add(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'));
        const { violations, passes } = await page.evaluate<axe.AxeResults>('axe.run()');
        expect(passes.map(({ id }) => id)).toContain('color-contrast');
        const grave = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
        expect(grave.map(({ id, nodes }) => ({ id, targets: nodes.map(({ html }) => html) }))).toEqual([]);
      }
      expect(backgrounds.size).toBe(2);
      // A page of 360 px has 180 at 200 %.
      for (const width of [360, 180]) {
        await page.setViewportSize({ width, height: 740 });
        expect(await page.evaluate<number>('innerWidth')).toBe(width);
        expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(width);
        const overflowing = await page.evaluate<string[]>(`[...document.querySelectorAll('main, main *')]
        .filter((element) => element.getBoundingClientRect().right > innerWidth)
        .map((element) => element.outerHTML)`);
        expect(overflowing).toEqual([]);
      }
    },
  );
});
