/** The console in a real browser: every page in both themes, and journeys of operators. */
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ROUTES } from '../../src/modules/console/routes.ts';
import {
  collectProblems,
  expectAccessible,
  expectContrast,
  launchChromium,
  SKIPS_CHROMIUM,
} from '../support/chromium.ts';
import { ConsoleFixture, OPERATORS } from '../support/console-fixture.ts';
import { type ConsoleSamples, createConsoleSamples, fillPath } from '../support/console-samples.ts';
import { adminClient, clientsOf } from '../support/service.ts';

/** 320 px at 200 %. */
const SMALL = { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2 };

const PAGES = ROUTES.filter(
  ({ method, role, path }) =>
    method === 'GET' && role !== 'anyone' && !/(\/preview|\/offers|\.csv|\.jsonl)$/.test(path),
);

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let fixture: ConsoleFixture;
  let samples: ConsoleSamples;
  let chrome: Browser;
  let context: BrowserContext;

  beforeAll(async () => {
    fixture = await ConsoleFixture.open();
    samples = await createConsoleSamples(fixture);
    chrome = await launchChromium();
  });
  afterEach(() => context.close());
  afterAll(async () => {
    await chrome?.close();
    await fixture?.close();
  });

  async function signIn(options: BrowserContextOptions = {}, email: string = OPERATORS.admin) {
    context = await chrome.newContext(options);
    const problems = collectProblems(context);
    const hosts = new Set<string>();
    context.on('request', (request) => void hosts.add(new URL(request.url()).host));
    const page = await context.newPage();
    fixture.clock.advance(1);
    await page.goto(fixture.createLink(email));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${fixture.url}/`);
    return { page, problems, hosts };
  }

  const open = (page: Page, path: string) => page.goto(fixture.url + fillPath(path, samples.params));

  it('every page is accessible in light and dark, fits into 320 px and loads nothing foreign', async () => {
    const { page, problems, hosts } = await signIn({ ...SMALL, colorScheme: 'light' });
    for (const { path } of PAGES) {
      await page.emulateMedia({ colorScheme: 'light' });
      await open(page, path);
      await expectAccessible(page);
      await page.emulateMedia({ colorScheme: 'dark' });
      await expectContrast(page);
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect({ path, width }).toEqual({ path, width: 320 });
    }
    expect(problems).toEqual([]);
    expect([...hosts]).toEqual([new URL(fixture.url).host]);
  }, 480_000);

  it('an operator finds a user by keyboard, ends the sessions, and reads it in the audit log', async () => {
    const { page, problems } = await signIn({}, OPERATORS.support);
    await page.locator('#q').focus();
    await page.keyboard.type(samples.params.u);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Ada Lovelace' }).waitFor();
    await page.getByRole('button', { name: 'End all sessions' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The sessions have ended.').waitFor();
    await page.getByRole('link', { name: 'In the audit log' }).click();
    const row = page.locator('.log li', { hasText: 'Ended every session' }).first();
    await row.locator('summary').focus();
    await page.keyboard.press('Enter');
    await row.getByText('AdminService/EndUserSessions').waitFor();
    expect(problems).toEqual([]);
  });

  it('Back keeps the filters of a list', async () => {
    const { page } = await signIn();
    await open(page, '/users');
    await page.locator('#prefix').fill(samples.email.slice(0, 4));
    await page.getByRole('button', { name: 'Show' }).click();
    await page.locator(`a[href="/users/${samples.params.u}"]`).click();
    await page.getByRole('heading', { level: 1, name: 'Ada Lovelace' }).waitFor();
    await page.goBack();
    expect(await page.locator('#prefix').inputValue()).toBe(samples.email.slice(0, 4));
    expect(page.url()).toContain('prefix=');
  });

  it('an admin brands an application and sees it in the preview, whose forms and scripts do not run', async () => {
    const { page, problems } = await signIn();
    await open(page, '/applications/:a');
    await page.getByText('Look and links').click();
    await page.locator('#accentColor').fill('#5b3fd6');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    const frame = page.frameLocator('iframe').first();
    await frame.getByRole('heading', { level: 1 }).waitFor();
    await frame.getByRole('button', { name: 'Continue' }).press('Enter');
    await frame.getByRole('heading', { level: 1 }).waitFor();
    expect(problems.filter((problem) => !problem.includes('sandboxed'))).toEqual([]);
    const { application } = await adminClient(fixture.service).getApplication({ applicationId: samples.params.a });
    expect(application?.accentColor).toBe('#5b3fd6');
  });

  it('an admin says what a new application is, and copies its line', async () => {
    const { page, problems } = await signIn({ ...SMALL, permissions: ['clipboard-read', 'clipboard-write'] });
    for (const kind of ['server', 'own-page', 'product', 'single-page']) {
      await open(page, '/applications/new');
      await page.locator(`[name=kind][value=${kind}]`).focus();
      await page.keyboard.press('Space');
      await page.locator('#name').fill('Bakery');
      await page.locator('#redirectUris').fill('https://bakery.test/callback');
      await page.getByRole('button', { name: 'Create' }).click();
      const once = page.getByRole('status');
      await once.getByRole('button', { name: 'Copy' }).click();
      await once.getByRole('button', { name: 'Copied' }).waitFor();
      const line = await page.evaluate<string>('navigator.clipboard.readText()');
      expect(line).toMatch(/^ export USHER_URL=\S+ CLIENT_ID=client_\S+/);
      expect(line.includes(' API_KEY=usk_')).toBe(kind !== 'single-page');
      await page.evaluate(`document.querySelectorAll('details').forEach((details) => { details.open = true; })`);
      await expectAccessible(page);
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(320);
    }
    expect(problems).toEqual([]);
  });

  it('the figures of an event change without a reload, and keep open what is open', async () => {
    const { page, problems } = await signIn({}, OPERATORS.viewer);
    await open(page, '/applications/:a/events/:e');
    const come = page.locator('.totals dd').first();
    const before = Number(await come.textContent());
    await page.getByText('The same as a table').click();
    // What has the focus stays: the keyboard continues there.
    await page.getByRole('heading', { level: 1 }).click();
    await page.evaluate('document.activeElement.blur()');
    const { events } = clientsOf(fixture.service, fixture.tenant);
    await events.checkIn({ eventId: samples.params.e, attendeeId: 'somebody new', gate: 'South' });
    await expect.poll(() => come.textContent()).toBe(String(before + 1));
    expect(await page.locator('[data-live] details').getAttribute('open')).not.toBeNull();
    expect(problems).toEqual([]);
  });

  it('a form that was refused has the focus on what is wrong, and what was typed', async () => {
    const { page } = await signIn();
    await open(page, '/users/new');
    await page.locator('#email').fill(samples.email);
    await page.locator('#name').fill('Somebody');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.evaluate('document.activeElement.getAttribute("role")')).toBe('alert');
    expect(await page.locator('#name').inputValue()).toBe('Somebody');
  });

  it('support sees why a webhook fails, and sends the message again', async () => {
    const { page } = await signIn({}, OPERATORS.support);
    await open(page, '/applications/:a/webhooks/:w');
    await page.getByRole('link', { name: 'webhook.test' }).click();
    await page.getByText('"type": "webhook.test"').waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('The redelivery has started.').waitFor();
  });

  it('a page of another site cannot send a form, and nobody is signed in after signing out', async () => {
    const { page } = await signIn();
    const before = await fixture.readAudit();
    await page.route('http://evil.test/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method="post" action="${fixture.url}/users/${samples.params.u}/deactivate"><button>Go</button></form>`,
      }),
    );
    await page.goto('http://evil.test/');
    await page.getByRole('button', { name: 'Go' }).click();
    await page.waitForURL(/deactivate/);
    expect(await fixture.readAudit()).toEqual(before);
    await open(page, '/users');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  });
});
