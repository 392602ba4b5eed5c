/** The page for a code in a real browser: codes that are pasted, filled in or typed, the countdown, and the ways back. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { answerFor, collectProblems, expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { SECOND } from '../support/clock.ts';
import { beginLogin, newAddress } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { wrongCode } from '../support/mail-server.ts';
import { createTestUser, REDIRECT_URI } from '../support/service.ts';

const shiftDigits = (code: string, zero: number) =>
  code.replace(/\d/g, (digit) => String.fromCodePoint(zero + Number(digit)));

const SPELLINGS: readonly [name: string, spell: (code: string) => string][] = [
  ['words around it', (code) => `Your code is ${code.slice(0, 3)} ${code.slice(3)}!`],
  ['a hyphen', (code) => `${code.slice(0, 3)}-${code.slice(3)}`],
  ['Arabic digits', (code) => shiftDigits(code, 0x660)],
  ['Persian digits', (code) => shiftDigits(code, 0x6f0)],
  ['full-width digits', (code) => shiftDigits(code, 0xff10)],
];

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let fixture: LoginFixture;
  let chrome: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    fixture = await LoginFixture.open({ config: { publicUrl: undefined } });
    chrome = await launchChromium();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await chrome?.close();
    await fixture?.close();
  });

  /** Opens the choice. The application answers every request, and `posts` has the paths of the forms that were sent. */
  async function openChoice(fragment = '', { movesClock = false } = {}) {
    context = await chrome.newContext({
      permissions: ['clipboard-read', 'clipboard-write'],
      extraHTTPHeaders: { 'x-forwarded-for': newAddress() },
    });
    const problems = collectProblems(context);
    const page = await context.newPage();
    await answerFor(page, `${REDIRECT_URI}*`, 'Signed in');
    // Time stands still until the test moves it, however long a page takes.
    if (movesClock) {
      await page.clock.install();
      await page.clock.pauseAt(Date.now() + SECOND);
    }
    const posts: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') posts.push(new URL(request.url()).pathname);
    });
    await goToChoice(page, fragment);
    return { page, posts, problems };
  }

  async function goToChoice(page: Page, fragment: string): Promise<void> {
    const { path } = await beginLogin(fixture.service, fixture.tenant);
    await page.goto(`http://localhost:${fixture.service.port}${path}${fragment}`);
  }

  const heading = (page: Page) => page.getByRole('heading', { level: 1 });
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const focused = (page: Page) =>
    page.evaluate<string>(
      'document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent.trim()',
    );

  async function openCode(options: Parameters<typeof openChoice>[1] = {}) {
    const opened = await openChoice('', options);
    const { email } = await createTestUser(fixture.service);
    const code = await askForCode(opened.page, email);
    opened.posts.length = 0;
    return { ...opened, email, code };
  }

  async function askForCode(page: Page, email: string): Promise<string> {
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('E-mail address').press('Enter');
    await page.getByRole('heading', { name: 'Check your e-mail' }).waitFor();
    return fixture.mailbox.sentTo(email).at(-1)?.code ?? '';
  }

  async function paste(page: Page, text: string): Promise<void> {
    await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`);
    await page.getByLabel('Code').press('Control+V');
  }

  const expectSignedIn = (page: Page) => page.getByText('Signed in').waitFor();

  it('a code that is pasted submits itself, once, whatever is around it and whatever its digits', async () => {
    const { page, posts, problems, code } = await openCode();
    // Keeps the browser on the page.
    await page.route('**/login/code', (route) => route.fulfill({ status: 204 }));
    for (const [name, spell] of SPELLINGS) {
      await paste(page, spell(code));
      await expect.poll(() => posts, { message: name }).toEqual(['/login/code']);
      await page.reload();
      expect(posts.splice(0), name).toEqual(['/login/code']);
    }
    await page.unrouteAll();
    await paste(page, shiftDigits(code, 0x660));
    await expectSignedIn(page);
    expect(problems).toEqual([]);
  });

  it('a code that is filled in submits itself once, though the browser says so twice', async () => {
    const { page, posts, code } = await openCode();
    await page.evaluate(`
      document.querySelector('#code').value = '${code}';
      for (let time = 0; time < 2; time++) document.querySelector('#code').dispatchEvent(new Event('input', { bubbles: true }));`);
    await expectSignedIn(page);
    expect(posts).toEqual(['/login/code']);
  });

  it('a code that a keyboard inserts at once submits itself', async () => {
    const { page, code } = await openCode();
    await page.getByLabel('Code').focus();
    await page.keyboard.insertText(code);
    await expectSignedIn(page);
  });

  it('typed digits do not submit, also after a slip, and Enter sends them', async () => {
    const { page, posts, code } = await openCode();
    const field = page.getByLabel('Code');
    for (const [name, spell] of SPELLINGS.slice(1)) {
      await field.press('Control+A');
      await field.press('Delete');
      await field.pressSequentially(`${spell(code)}0`);
      await field.press('Backspace');
      await field.press('Backspace');
      await field.press('Control+Z');
      await field.press('Control+A');
      await field.press('Delete');
      await field.pressSequentially(spell(code));
      expect(posts, name).toEqual([]);
    }
    await field.press('Enter');
    await expectSignedIn(page);
    expect(posts).toEqual(['/login/code']);
  });

  it('pasted digits that are too few, too many, or two codes do not submit', async () => {
    const { page, posts, code } = await openCode();
    const field = page.getByLabel('Code');
    for (const text of [code.slice(1), `${code}12`, `${code}, ${wrongCode(code)}`]) {
      await field.press('Control+A');
      await paste(page, text);
      expect(await field.inputValue()).toBe(text);
      expect(posts).toEqual([]);
    }
    // The page still submits the next.
    await field.press('Control+A');
    await paste(page, code);
    await expectSignedIn(page);
  });

  it('a wrong code that is pasted shows the attempts that are left, to screen readers too', async () => {
    const { page, code } = await openCode();
    await paste(page, wrongCode(code));
    await page.getByRole('alert').getByText('That is not the code we sent. You can try 4 more times.').waitFor();
    const field = page.getByRole('textbox', { name: 'Code' });
    expect({ focus: await focused(page), value: await field.inputValue() }).toEqual({ focus: 'Code', value: '' });
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await field.getAttribute('aria-describedby')).toBe('alert');
    await expectAccessible(page);
    await paste(page, code);
    await expectSignedIn(page);
  });

  it('the code is sent again after a countdown, which is spoken of once, when it ends', async () => {
    const { page, email } = await openCode({ movesClock: true });
    await page.evaluate(`
      window.spoken = [];
      new MutationObserver(() => spoken.push(document.querySelector('[role=status]').textContent))
        .observe(document.querySelector('[role=status]'), { childList: true });`);
    const countdown = page.locator('#wait');
    expect(await countdown.getAttribute('aria-hidden')).toBe('true');
    expect(await countdown.textContent()).toBe('in 0:30');
    expect(await button(page, 'Send again').isDisabled()).toBe(true);
    await page.clock.runFor(29 * SECOND);
    expect(await countdown.textContent()).toBe('in 0:01');
    expect(await page.evaluate('spoken')).toEqual([]);
    await page.clock.runFor(5 * SECOND);
    expect(await countdown.isVisible()).toBe(false);
    expect(await page.evaluate('spoken')).toEqual(['You can have the code sent again now.']);
    fixture.clock.advance(30 * SECOND);
    await button(page, 'Send again').click();
    await page.locator('#wait').getByText('0:30').waitFor();
    expect(fixture.mailbox.sentTo(email)).toHaveLength(2);
  });

  it('a reload does not begin the countdown anew', async () => {
    const { page } = await openCode({ movesClock: true });
    const now = Number(await page.evaluate('Date.now()'));
    // From now on the time of the page stands still, however long the reload takes.
    await page.clock.pauseAt(now + 20 * SECOND);
    const countdown = page.locator('#wait');
    const before = await countdown.textContent();
    expect(before).toMatch(/0:(10|0\d)$/);
    await page.reload();
    expect(await countdown.textContent()).toBe(before);
  });

  it('a person who mistyped the address is asked, or changes it', async () => {
    const { page, posts, problems } = await openChoice();
    const local = `ada.${Date.now()}`;
    await createTestUser(fixture.service, { email: `${local}@gmail.com` });
    await askForCode(page, `${local}@gmial.com`);
    await expectAccessible(page);
    await button(page, 'Change it').click();
    await page.getByRole('heading', { name: /^Sign in/ }).waitFor();
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(`${local}@gmial.com`);
    await askForCode(page, `${local}@gmial.com`);
    // The newest of several codes must be unique.
    fixture.clock.advance(1);
    await button(page, `${local}@gmail.com`).click();
    await page.getByText(`If ${local}@gmail.com belongs to an account`).waitFor();
    await paste(page, fixture.mailbox.codeFor(`${local}@gmail.com`));
    await expectSignedIn(page);
    expect(posts).toEqual(['/login/email', '/login/email', '/login/email', '/login/code']);
    expect(problems).toEqual([]);
  });

  it('the address in the fragment fills the field, and the empty field has the focus', async () => {
    const { page, problems } = await openChoice('#email=ada+shop@example.com');
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('ada+shop@example.com');
    for (const fragment of ['', '#email=', '#email=%', '#other=x']) {
      await goToChoice(page, fragment);
      await expect.poll(() => focused(page)).toBe('E-mail address');
      expect(await page.getByLabel('E-mail address').inputValue()).toBe(fragment === '#email=%' ? '%' : '');
    }
    expect(problems).toEqual([]);
  });

  it('the keyboard reaches everything in the order of the page', async () => {
    const { page } = await openCode({ movesClock: true });
    await page.clock.runFor(30 * SECOND);
    const order = [await focused(page)];
    for (let stop = 1; stop <= 4; stop++) {
      await page.keyboard.press('Tab');
      order.push(await focused(page));
    }
    expect(order).toEqual(['Code', 'Sign in', 'Send again', 'Change it', 'Sign in another way']);
  });

  it('the page shows its fields and buttons in forced colours, and fits at 400 %', async () => {
    const { page } = await openCode();
    await page.emulateMedia({ forcedColors: 'active' });
    // 1280 px at 400 %.
    await page.setViewportSize({ width: 320, height: 256 });
    for (const next of ['Change it', undefined]) {
      expect(await heading(page).isVisible()).toBe(true);
      const borders = await page.evaluate<string[]>(`
        [...document.querySelectorAll('main input:not([type=hidden]), main button:not(.quiet)')]
          .filter((element) => element.checkVisibility())
          .map((element) => getComputedStyle(element).borderTopStyle)`);
      expect(new Set(borders)).toEqual(new Set(['solid']));
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
      if (next) await button(page, next).click();
    }
  });
});
