/** The whole login in a real browser, with the application of the README. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { collectProblems, expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { type ExampleApplication, startExample } from '../support/example-application.ts';
import { newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { wrongCode } from '../support/mail-server.ts';
import { REPOSITORY } from '../support/process.ts';
import { createTestUser, type TestUser } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';
import { Wallet } from '../support/wallet.ts';

/** EIP-1193: the user rejected the request. */
const USER_REJECTED = 4001;
const DECLINED = 'You declined in your wallet. Nothing was signed.';
const WRONG_CODE = 'That is not the code we sent.';

/** The result of a wallet's request, or the code of its error. */
type WalletAnswer = { result: unknown } | { code: number };
type WalletHandler = (method: string, parameters: readonly string[]) => WalletAnswer | Promise<WalletAnswer>;

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let fixture: LoginFixture;
  let application: ExampleApplication;
  let chrome: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    fixture = await LoginFixture.open({
      name: 'The Corner Shop',
      redirectUris: ['http://127.0.0.1/callback'],
      config: { publicUrl: undefined },
    });
    const { service, tenant } = fixture;
    application = await startExample(join(REPOSITORY, 'test/examples/hono/app.ts'), {
      USHER_URL: `http://localhost:${service.port}`,
      CLIENT_ID: tenant.clientId,
      API_KEY: tenant.apiKey,
    });
    chrome = await launchChromium();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await chrome?.close();
    application?.close();
    await fixture?.close();
  });

  /** Opens the login page in a new browser context, sent there by the application. */
  async function openLogin({ wallet, ...options }: BrowserContextOptions & { wallet?: WalletHandler } = {}) {
    context = await chrome.newContext({
      viewport: { width: 360, height: 740 },
      extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
      ...options,
    });
    if (wallet) await installWallet(wallet);
    const problems = collectProblems(context);
    const hosts = new Set<string>();
    context.on('request', (request) => void hosts.add(new URL(request.url()).host));
    const page = await context.newPage();
    await page.goto(`${application.url}/login`);
    await page.getByRole('heading', { name: 'Sign in to The Corner Shop' }).waitFor();
    return { page, problems, hosts, authUrl: page.url() };
  }

  async function installWallet(answer: WalletHandler): Promise<void> {
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

  const answerAs =
    (wallet: Wallet): WalletHandler =>
    (method, [first = '']) => {
      if (method === 'eth_requestAccounts') return { result: [wallet.checksumAddress] };
      if (method === 'personal_sign') return { result: wallet.sign(Buffer.from(first.slice(2), 'hex').toString()) };
      return { code: 4200 };
    };

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const useWallet = (page: Page) => button(page, 'Continue with a wallet').click();
  const hasFocus = (page: Page, selector: string) =>
    page.evaluate<boolean>(`document.activeElement.matches(${JSON.stringify(selector)})`);

  /** Asks for a code and returns it. */
  async function typeEmail(page: Page, { email }: Pick<TestUser, 'email'>): Promise<string> {
    await page.getByLabel('E-mail address').fill(email);
    await button(page, 'Continue with e-mail').click();
    await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
    return fixture.mailbox.codeFor(email);
  }

  async function typeCode(page: Page, code: string): Promise<void> {
    await page.getByLabel('Code').pressSequentially(code);
    await button(page, 'Sign in').click();
  }

  async function typeWrongCode(page: Page, code: string): Promise<void> {
    await typeCode(page, wrongCode(code));
    await page.getByText(WRONG_CODE).waitFor();
  }

  async function expectSignedIn(page: Page, { email }: TestUser): Promise<void> {
    // Not waitForURL: a form sent twice navigates here twice, and it fails when the first is given up for the second.
    await page.getByText(`Signed in as ${email}`).waitFor();
  }

  it('a person signs in with a code, and the page loads nothing from another host', async () => {
    const { page, problems, hosts } = await openLogin();
    const user = await createTestUser(fixture.service);
    const code = await typeEmail(page, user);
    expect(await hasFocus(page, '#code')).toBe(true);
    expect(await page.getByLabel('Code').getAttribute('autocomplete')).toBe('one-time-code');
    await typeWrongCode(page, code);
    expect(await hasFocus(page, '#code')).toBe(true);
    expect(await page.getByLabel('Code').inputValue()).toBe('');
    expect(await page.getByRole('textbox', { name: 'Code', description: WRONG_CODE }).count()).toBe(1);
    await typeCode(page, code);
    await expectSignedIn(page, user);
    expect(problems).toEqual([]);
    expect([...hosts].sort()).toEqual([new URL(application.url).host, `localhost:${fixture.service.port}`].sort());
  });

  // More spellings by HTTP: test/integration/login-page/international-addresses.test.ts.
  it.each(
    quickOrLong(
      ['BÜCHER.EXAMPLE'],
      ['bücher.example', 'BÜCHER.EXAMPLE', 'bu\u0308cher.example', 'xn--bcher-kva.example'],
    ),
  )('a person types the domain %s, and the page shows it in Unicode', async (domain) => {
    const { page, problems } = await openLogin();
    const local = randomUUID();
    const user = await createTestUser(fixture.service, { email: `${local}@bücher.example` });
    await page.getByLabel('E-mail address').fill(`${local}@${domain}`);
    await button(page, 'Continue with e-mail').click();
    await page.getByText(`${local}@bücher.example`).waitFor();
    await typeCode(page, fixture.mailbox.codeFor(`${local}@xn--bcher-kva.example`));
    await expectSignedIn(page, user);
    expect(problems).toEqual([]);
  });

  it('a person types an address whose local part is beyond ASCII, with a space that the keyboard added', async () => {
    const { page, problems } = await openLogin();
    const email = `jörg-${randomUUID()}@example.com`;
    const user = await createTestUser(fixture.service, { email });
    const field = page.getByLabel('E-mail address');
    expect(await field.getAttribute('inputmode')).toBe('email');
    await field.fill(` ${email} `);
    expect(await field.evaluate((input: { validity?: { valid: boolean } }) => input.validity?.valid)).toBe(true);
    await button(page, 'Continue with e-mail').click();
    await page.getByText(email).waitFor();
    await typeCode(page, fixture.mailbox.codeFor(email));
    await expectSignedIn(page, user);
    expect(problems).toEqual([]);
  });

  it('a person signs in with a wallet, which shows the message to sign while the page waits', async () => {
    const { wallet, user } = await fixture.createWalletUser();
    const { promise: consent, resolve: agree } = Promise.withResolvers<void>();
    const asked: [string, readonly string[]][] = [];
    const { page, problems, authUrl } = await openLogin({
      wallet: async (method, parameters) => {
        asked.push([method, parameters]);
        await consent;
        return answerAs(wallet)(method, parameters);
      },
    });
    await useWallet(page);
    expect(await page.getByRole('status').textContent()).toBe('Waiting for your wallet…');
    const isDisabled = await Promise.all((await page.getByRole('button').all()).map((each) => each.isDisabled()));
    expect(isDisabled).toEqual([true, true, true]);
    // With JavaScript, the language needs no button.
    expect(await page.getByRole('combobox', { name: 'Language' }).count()).toBe(1);
    agree();
    await expectSignedIn(page, user);
    expect(asked.map(([method]) => method)).toEqual(['eth_requestAccounts', 'personal_sign']);
    const [, [hex = '', address] = []] = asked[1] ?? [];
    const message = Buffer.from(hex.slice(2), 'hex').toString();
    expect(address).toBe(wallet.checksumAddress);
    const { host, searchParams } = new URL(authUrl);
    expect(message).toContain(`${host} wants you to sign in with your Ethereum account:\n${address}`);
    expect(message).toContain(`Request ID: ${searchParams.get('intent')}`);
    expect(problems).toEqual([]);
  });

  it('without JavaScript, a person cancels, goes back and signs in, and a reload sends no form again', async () => {
    const { page } = await openLogin({ javaScriptEnabled: false });
    await button(page, 'Cancel').click();
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    await page.goBack();
    expect(await button(page, 'Continue with a wallet').isVisible()).toBe(false);
    const notice = page.locator('noscript p');
    expect(await notice.textContent()).toBe('To sign in with a wallet, allow JavaScript for this page.');
    const user = await createTestUser(fixture.service);
    const code = await typeEmail(page, user);
    await typeWrongCode(page, code);
    const methods: string[] = [];
    page.on('request', (request) => void methods.push(request.method()));
    await page.reload();
    await page.reload();
    expect(methods).toEqual(['GET', 'GET']);
    await page.getByLabel('Code').pressSequentially(code);
    await button(page, 'Sign in').dblclick();
    await expectSignedIn(page, user);
  });

  it('a person signs in with the keyboard', async () => {
    const { page } = await openLogin({ wallet: () => ({ code: USER_REJECTED }) });
    const user = await createTestUser(fixture.service);
    const focused = () =>
      page.evaluate<string>('document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent');
    const outline = () => page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle');
    const order = [];
    for (let stop = 0; stop < 4; stop++) {
      // The empty field has the focus at first.
      if (stop > 0) await page.keyboard.press('Tab');
      order.push(await focused());
      expect(await outline()).not.toBe('none');
    }
    expect(order).toEqual(['E-mail address', 'Continue with e-mail', 'Continue with a wallet', 'Cancel']);
    for (let back = 0; back < 3; back++) await page.keyboard.press('Shift+Tab');
    await page.keyboard.type(user.email);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
    await page.keyboard.type(fixture.mailbox.codeFor(user.email));
    await page.keyboard.press('Enter');
    await expectSignedIn(page, user);
  });

  it('a person who declines in the wallet may try again, and may return from the code to the wallet', async () => {
    const { wallet, user } = await fixture.createWalletUser();
    let declined: string | undefined = 'eth_requestAccounts';
    const { page } = await openLogin({
      wallet: (method, parameters) =>
        method === declined ? { code: USER_REJECTED } : answerAs(wallet)(method, parameters),
    });
    await useWallet(page);
    await page.getByText(DECLINED).waitFor();
    expect(await hasFocus(page, '[role=alert]')).toBe(true);
    await typeEmail(page, await createTestUser(fixture.service));
    await button(page, 'Sign in another way').click();
    declined = 'personal_sign';
    await useWallet(page);
    await page.getByText(DECLINED).waitFor();
    declined = undefined;
    // The newest message counts.
    fixture.clock.advance(1);
    await useWallet(page);
    await expectSignedIn(page, user);
  });

  it('the page names the reason if a wallet fails, has no user, or the cookie is missing', async () => {
    let answer: WalletHandler = () => ({ code: -32603 });
    const { page } = await openLogin({ wallet: (method, parameters) => answer(method, parameters) });
    await useWallet(page);
    await page.getByText('Your wallet did not answer as expected. Try again.').waitFor();
    answer = answerAs(new Wallet());
    await useWallet(page);
    await page.getByText('No account has this wallet.').waitFor();
    await context.clearCookies();
    await useWallet(page);
    await page.getByRole('alert').getByText('cookie').waitFor();
  });

  type Scheme = NonNullable<BrowserContextOptions['colorScheme']>;

  it.each<[name: string, scheme: Scheme, heading: string, reach: (page: Page) => Promise<unknown>]>([
    [
      'the choice with an alert',
      'dark',
      'Sign in to',
      async (page) => {
        await page.getByLabel('E-mail address').fill('ada@example.com');
        await useWallet(page);
        await page.getByText(DECLINED).waitFor();
        expect(await page.getByLabel('E-mail address').inputValue()).toBe('ada@example.com');
      },
    ],
    [
      'the code with an alert',
      'light',
      'Check your e-mail',
      async (page) => typeWrongCode(page, await typeEmail(page, await createTestUser(fixture.service))),
    ],
    ['an error', 'dark', 'This sign-in is not known', (page) => page.goto(page.url().replace(/intent=.*/, 'intent=1'))],
  ])('the page of %s is accessible in a %s scheme and fits 180 px', async (...row) => {
    const [, colorScheme, heading, reach] = row;
    const { page } = await openLogin({ colorScheme, wallet: () => ({ code: USER_REJECTED }) });
    await reach(page);
    await page.getByRole('heading', { name: heading }).waitFor();
    await expectAccessible(page);
    const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const [red = 0] = background.match(/\d+/g)?.map(Number) ?? [];
    expect(red > 128).toBe(colorScheme === 'light');
    // A page of 360 px has 180 at 200 %.
    for (const width of [360, 180]) {
      await page.setViewportSize({ width, height: 740 });
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(width);
      const overflowing = await page.evaluate<string[]>(`[...document.querySelectorAll('main, main *')]
        .filter((element) => element.getBoundingClientRect().right > innerWidth)
        .map((element) => element.outerHTML)`);
      expect(overflowing).toEqual([]);
    }
  });
});
