/** Wallets that announce themselves to the login page (EIP-6963), in a real browser. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../src/texts/texts.ts';
import { answerFor, collectProblems, expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { beginLogin, newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { createTestUser, REDIRECT_URI, type TestService } from '../support/service.ts';
import { Wallet } from '../support/wallet.ts';

const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const svg = (color: string, content = '') =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96"><circle cx="48" cy="48" r="44" fill="${color}"/>${content}</svg>`,
  )}`;

/** What a wallet answers: a result, or the code of an error. */
type Answer = { readonly result: unknown } | { readonly code: number };
type Handler = (method: string, parameters: readonly string[]) => Answer | Promise<Answer>;

interface Announced {
  /** The value of `info`. */
  readonly info: Readonly<Record<string, unknown>>;
  readonly answer?: Handler;
}

const announce = (name: string, answer?: Handler, icon = svg('teal')): Announced => ({
  info: { uuid: crypto.randomUUID(), name, icon, rdns: 'test.wallet' },
  ...(answer && { answer }),
});

const answerAs =
  (wallet: Pick<Wallet, 'address'>, sign: (text: string) => string): Handler =>
  (method, [first = '']) => {
    if (method === 'eth_requestAccounts') return { result: [wallet.address] };
    if (method === 'personal_sign') return { result: sign(Buffer.from(first.slice(2), 'hex').toString()) };
    return { code: 4200 };
  };

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let fixture: LoginFixture;
  let service: TestService;
  let chrome: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    fixture = await LoginFixture.open({ config: { publicUrl: undefined } });
    service = fixture.service;
    chrome = await launchChromium();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await chrome?.close();
    await fixture?.close();
  });

  interface Opened extends BrowserContextOptions {
    readonly announced?: readonly Announced[];
    /** Becomes `window.ethereum`. */
    readonly injected?: Handler;
    /** Runs in the page before its own script. */
    readonly script?: string;
    readonly at?: TestService;
    readonly language?: string;
  }

  /** Opens the login page in a browser with these wallets. */
  async function openLogin({
    announced = [],
    injected,
    script = '',
    at = service,
    language = 'en',
    ...options
  }: Opened = {}) {
    context = await chrome.newContext({
      viewport: { width: 320, height: 740 },
      extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
      locale: language,
      ...options,
    });
    const problems = collectProblems(context);
    const hosts = new Set<string>();
    context.on('request', (request) => {
      if (!request.url().startsWith('data:')) hosts.add(new URL(request.url()).host);
    });
    const handlers = [...announced.map(({ answer }) => answer), injected];
    await context.exposeFunction('askWallet', (index: number, method: string, parameters: string[]) => {
      const answer = handlers[index]?.(method, parameters);
      return answer ?? { code: 4200 };
    });
    await context.addInitScript(`
      const toProvider = (index) => ({
        async request({ method, params = [] }) {
          const answer = await window.askWallet(index, method, params);
          if ('code' in answer) throw Object.assign(new Error('No'), { code: answer.code });
          return answer.result;
        },
      });
      const announced = ${JSON.stringify(announced.map(({ info }) => info))}.map((info, index) => ({ info, provider: toProvider(index) }));
      window.announceWallet = (detail) => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }));
      const announceAll = () => announced.forEach((each) => window.announceWallet(Object.freeze(each)));
      window.addEventListener('eip6963:requestProvider', announceAll);
      announceAll();
      ${injected ? `window.ethereum = toProvider(${announced.length});` : ''}
      ${script}`);
    const page = await context.newPage();
    await answerFor(page, `${REDIRECT_URI}*`, 'Signed in');
    const login = await beginLogin(at, fixture.tenant);
    await page.goto(`http://localhost:${at.port}${login.path}`);
    return { page, problems, hosts };
  }

  const buttonsOf = async (page: Page) =>
    (await page.locator('#wallet button:visible').allTextContents()).map((text) => text.replace(/[\u2068\u2069]/g, ''));
  const press = (page: Page, name: string) => page.locator('#wallet button').filter({ hasText: name }).click();
  const expectSignedIn = (page: Page) => page.getByText('Signed in', { exact: true }).waitFor();
  const alertOf = async (page: Page) => {
    await page.locator('[role=alert]:not(:empty)').waitFor();
    return page.getByRole('alert').textContent();
  };

  /** Returns a wallet of a user. */
  async function createWallet() {
    const { wallet } = await fixture.createWalletUser();
    return answerAs(wallet, (text) => wallet.sign(text));
  }

  it('without a wallet, a page with other ways to sign in does not speak of wallets', async () => {
    const { page } = await openLogin();
    expect(await page.locator('main').innerText()).not.toMatch(/wallet|\bor\b/i);
    await page.getByLabel('E-mail address').fill('ada@example.com');
    await page.getByRole('button', { name: 'Continue with e-mail' }).click();
    await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
  });

  it('without a wallet, a page with no other way to sign in says what is missing until one comes', async () => {
    await using replica = await fixture.startReplica({ publicUrl: undefined, loginMethods: ['wallet'] });
    const { page } = await openLogin({ at: replica });
    const missing = page.getByText('There is no wallet in this browser.');
    await missing.waitFor();
    await expectAccessible(page);
    await page.evaluate(`window.ethereum = {}; window.dispatchEvent(new Event('ethereum#initialized'))`);
    await missing.waitFor({ state: 'hidden' });
    expect(await buttonsOf(page)).toEqual(['Continue with a wallet']);
    await context.close();
  });

  it('a wallet that does not announce itself has a button without its name', async () => {
    const { page, problems } = await openLogin({ injected: await createWallet() });
    expect(await buttonsOf(page)).toEqual(['Continue with a wallet']);
    await press(page, 'a wallet');
    await expectSignedIn(page);
    expect(problems).toEqual([]);
  });

  it('one that announces itself has a button with its name and icon', async () => {
    const { page, problems } = await openLogin({
      announced: [announce('Rabby', await createWallet())],
      injected: () => ({ code: 4001 }),
    });
    expect(await buttonsOf(page)).toEqual(['Continue with Rabby']);
    await page.locator('#wallet button > img').waitFor();
    await press(page, 'Rabby');
    await expectSignedIn(page);
    expect(problems).toEqual([]);
  });

  it.each([
    ['dark', 'de'],
    ['light', 'ar'],
  ] as const)(
    'several have a button each, in a %s page in %s that fits and is accessible',
    async (colorScheme, language) => {
      const declining: Handler = () => ({ code: 4001 });
      const { page, problems, hosts } = await openLogin({
        announced: [
          announce('MetaMask', declining, svg('orange')),
          announce('Rabby', await createWallet(), svg('slateblue')),
          announce('Hardware Wallet of the Länderbank AG with a long name', declining, PNG),
        ],
        colorScheme,
        language,
      });
      const names = ['MetaMask', 'Rabby', 'Hardware Wallet of the Länderbank AG wi…'];
      const label = (wallet: string) => LANGUAGES.get(language)?.text('wallet.submit.named', { wallet });
      expect(await page.locator('#wallet button').allTextContents()).toEqual(names.map(label));
      await page.locator('#wallet button > img').nth(2).waitFor();
      await expectAccessible(page);
      for (const width of [320, 180]) {
        await page.setViewportSize({ width, height: 740 });
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      }
      await press(page, 'Rabby');
      await expectSignedIn(page);
      expect(problems).toEqual([]);
      expect([...hosts]).toEqual([`localhost:${service.port}`, new URL(REDIRECT_URI).host]);
    },
  );

  it('a late one joins the others, takes no focus, and is not pressed while another is asked', async () => {
    const { promise: never } = Promise.withResolvers<Answer>();
    const { page } = await openLogin({ injected: () => never });
    const add = (name: string) =>
      page.evaluate(
        `window.announceWallet({ info: { uuid: ${JSON.stringify(name)}, name: ${JSON.stringify(name)} }, provider: { request() {} } })`,
      );
    await page.locator('#wallet button').focus();
    await add('Early');
    expect(await buttonsOf(page)).toEqual(['Continue with Early']);
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Early');
    // Again, as wallets do at every request.
    await add('Early');
    await page.evaluate(`document.querySelector('#wallet').requestSubmit()`);
    await page.getByRole('status').getByText('Waiting for your wallet…').waitFor();
    await add('Late');
    expect(await buttonsOf(page)).toEqual(['Continue with Early', 'Continue with Late']);
    expect(await page.locator('#wallet button:enabled').count()).toBe(0);
  });

  it('hostile ones change nothing but ten buttons', async () => {
    const hostileIcons = [
      'javascript:alert(1)',
      'https://evil.test/icon.png',
      '//evil.test/icon.png',
      'data:text/html,<script>alert(1)</script>',
      ' data:image/png;base64,AAAA',
      `data:image/png;base64,${'A'.repeat(70_000)}`,
      svg(
        'red',
        '<script>parent.hacked = 1; fetch("https://evil.test")</script><image href="https://evil.test/a.png"/>',
      ),
    ];
    const { page, problems, hosts } = await openLogin({
      announced: [
        announce('<img src=x onerror=alert(1)><b>Bold</b>', undefined, hostileIcons[0]),
        announce(`\u202eevaS\u0000\u2069\n\u200bx`, undefined, hostileIcons[1]),
        announce('$& $1 {wallet}', undefined, hostileIcons[2]),
        announce('', undefined, hostileIcons[3]),
        announce('🦊'.repeat(50), undefined, hostileIcons[4]),
        announce('W'.repeat(1_000_000), undefined, hostileIcons[5]),
        announce('SVG', undefined, hostileIcons[6]),
        { info: { uuid: 'number', name: 7, icon: 7 } },
      ],
      script: `
        window.addEventListener('eip6963:requestProvider', () => {
          const provider = { request() {} };
          for (const detail of [
            null, 7, {}, { info: null, provider }, { info: {} }, { info: { uuid: 1 }, provider },
            { info: { uuid: 'no provider' } }, { info: { uuid: 'no function', name: 'x' }, provider: { request: 1 } },
            { get info() { throw new Error('getter') }, provider },
            { info: { uuid: 'name', get name() { throw new Error('getter') } }, provider },
          ]) window.announceWallet(detail);
          for (let count = 0; count < 5000; count++)
            window.announceWallet({ info: { uuid: 'flood ' + count, name: 'Flood ' + count }, provider });
        });`,
    });
    const names = [
      '<img src=x onerror=alert(1)><b>Bold</b>',
      'evaSx',
      '$& $1 {wallet}',
      'a wallet',
      `${'🦊'.repeat(39)}…`,
      `${'W'.repeat(39)}…`,
      'SVG',
      'a wallet',
      'Flood 0',
      'Flood 1',
    ];
    expect(await buttonsOf(page)).toEqual(names.map((name) => `Continue with ${name}`));
    await page.locator('#wallet button > img').waitFor();
    expect(await page.locator('#wallet img').count()).toBe(1);
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
    await press(page, 'Flood 0');
    expect(await alertOf(page)).toBe('Your wallet did not answer as expected. Try again.');
    const { email } = await createTestUser(service);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByRole('button', { name: 'Continue with e-mail' }).click();
    await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
    expect(problems).toEqual([]);
    expect([...hosts]).toEqual([`localhost:${service.port}`]);
  });

  it('a wallet that fails gives an alert in the language of the person, who may try again', async () => {
    const failures: readonly [title: string, fail: Handler, alert: string][] = [
      ['declines', () => ({ code: 4001 }), 'Sie haben in Ihrer Wallet abgelehnt. Nichts wurde unterschrieben.'],
      ['shows another request', () => ({ code: -32_002 }), 'Ihre Wallet wartet noch auf Sie.'],
      ['is locked out', () => ({ code: 4100 }), 'Ihre Wallet hat nicht wie erwartet geantwortet.'],
      ['has no account', () => ({ result: [] }), 'Ihre Wallet hat ihre Adresse nicht mitgeteilt.'],
      ['answers nonsense', () => ({ result: null }), 'Ihre Wallet hat nicht wie erwartet geantwortet.'],
      ['signs at length', answerAs(new Wallet(), () => `0x${'ab'.repeat(5_000)}`), 'Diese Wallet ist ein Vertrag'],
      ['signs something else', answerAs(new Wallet(), () => '0xab'), 'Die Signatur passt nicht.'],
    ];
    let answer: Handler = () => ({ code: 4200 });
    const announced = [announce('Rabby', (method, parameters) => answer(method, parameters))];
    const { page } = await openLogin({ announced, language: 'de' });
    for (const [title, fail, alert] of failures) {
      answer = fail;
      fixture.clock.advance(1);
      await press(page, 'Rabby');
      await expect.poll(() => alertOf(page), { message: title }).toContain(alert);
    }
    answer = await createWallet();
    fixture.clock.advance(1);
    await press(page, 'Rabby');
    await expectSignedIn(page);
  });
});
