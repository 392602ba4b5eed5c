/** The console without a mouse, and with hands that are too quick. */
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { collectProblems, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { ConsoleFixture, OPERATORS } from '../support/console-fixture.ts';
import { type ConsoleSamples, createConsoleSamples } from '../support/console-samples.ts';
import { adminClient } from '../support/service.ts';

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let fixture: ConsoleFixture;
  let samples: ConsoleSamples;
  let chrome: Browser;
  let context: BrowserContext;
  let page: Page;
  let problems: readonly string[];

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

  async function openLink(): Promise<Keyboard> {
    context = await chrome.newContext();
    problems = collectProblems(context);
    page = await context.newPage();
    fixture.clock.advance(1_000);
    await page.goto(fixture.createLink(OPERATORS.admin));
    return Keyboard.of(page);
  }

  async function signIn(path: string): Promise<Keyboard> {
    const keyboard = await openLink();
    await keyboard.tabTo('button', 'Sign in');
    await keyboard.enter('Overview');
    await page.goto(fixture.url + path);
    return keyboard;
  }

  const listApplications = async (name: string) => {
    const { applications } = await adminClient(fixture.service).listApplications({ pageSize: 100 });
    return applications.filter((application) => application.name === name);
  };

  it('an operator creates an application, finds a user and ends the sessions by at most 120 keys', async () => {
    const keyboard = await openLink();
    expect(await keyboard.tabTo('button', 'Sign in')).toBe(1);
    await keyboard.enter('Overview');

    await keyboard.tabTo('link', 'Applications');
    await keyboard.enter('Applications');
    await keyboard.tabTo('link', 'Create an application');
    await keyboard.enter('Create an application');
    await keyboard.tabTo('textbox', 'Name');
    await keyboard.paste('Bakery');
    await keyboard.press('Tab');
    await keyboard.paste('http://127.0.0.1:3000/callback');
    await keyboard.tabTo('button', 'Create');
    await keyboard.enter('Bakery');
    // The key has the focus, and copying it is next.
    expect((await keyboard.readFocus()).role).toBe('status');
    expect(await keyboard.tabTo('button', 'Copy')).toBe(1);
    expect(await listApplications('Bakery')).toHaveLength(1);

    await page.goto(`${fixture.url}/`);
    expect(await keyboard.tabTo('searchbox', 'Find by address or ID')).toBeLessThanOrEqual(10);
    await keyboard.paste(samples.params.u);
    await keyboard.enter('Ada Lovelace');
    expect(await keyboard.tabTo('button', 'End all sessions')).toBeLessThanOrEqual(14);
    await keyboard.press('Enter');
    await page.getByText('The sessions have ended.').waitFor();
    expect((await keyboard.readFocus()).role).toBe('status');

    expect(keyboard.unseen).toEqual([]);
    expect(problems).toEqual([]);
    expect(keyboard.pressed).toBeLessThanOrEqual(120);
    const acts = (await fixture.readAudit()).map(({ action }) => action);
    expect(acts).toEqual(expect.arrayContaining(['AdminService/CreateApplication', 'AdminService/EndUserSessions']));
  });

  it('the keyboard passes by the preview, whose controls do nothing, and comes to the logo', async () => {
    const keyboard = await signIn(`/applications/${samples.params.a}?done=saved`);
    await page.frameLocator('iframe').last().getByRole('button').first().waitFor();
    expect((await keyboard.readFocus()).role).toBe('status');
    expect(await keyboard.tabTo('textbox', 'Name')).toBe(1);
    await page.getByRole('link', { name: 'Delete…' }).focus();
    expect(await keyboard.tabTo('link', 'Logo…')).toBe(1);
    expect(await keyboard.tabTo('button', 'Show')).toBe(3);
    await keyboard.press('Tab');
    // No control of the preview comes after the last one of the page.
    expect((await keyboard.readFocus()).role).not.toBe('button');
  });

  it('an ID is copied by keyboard, which is said for a while, and offered where the clipboard is refused', async () => {
    const keyboard = await signIn(`/users/${samples.params.u}`);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('main').focus();
    await keyboard.tabTo('button', `Copy ${samples.params.u}`);
    // On a busy machine, a test that asks may come too late.
    await page.evaluate(`globalThis.said = [];
      globalThis.copying = document.activeElement;
      new MutationObserver(() => {
        const now = copying.textContent.replace(/\\s+/g, ' ').trim() + ': ' + document.querySelector('[aria-live]').textContent;
        if (said.at(-1) !== now) said.push(now);
      }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true })`);
    await page.keyboard.press('Enter');
    const said = () => page.evaluate('said');
    await expect.poll(said).toEqual([`Copied ${samples.params.u}: Copied`, `Copy ${samples.params.u}: `]);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(samples.params.u);

    await page.addInitScript("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))");
    await page.goto(`${fixture.url}/audit`);
    await page.locator('.log summary').first().press('Enter');
    const shown = page.locator('.log [data-copy]').first();
    const id = await shown.getAttribute('data-copy');
    await shown.focus();
    await page.keyboard.press('Enter');
    expect((await keyboard.readFocus()).role).toBe('textbox');
    expect(await page.evaluate('String(getSelection())')).toBe(id);
    expect(problems).toEqual([]);
  });

  it('a reload after a key was created creates none, and shows it no more', async () => {
    await signIn('/applications/new');
    await page.getByLabel('Name', { exact: true }).fill('Once');
    await page.getByLabel('Redirect URIs').fill('http://127.0.0.1/callback');
    await page.getByRole('button', { name: 'Create' }).click();
    const [key = ''] = /usk_[\w-]+/.exec((await page.locator('.once code').textContent()) ?? '') ?? [];
    expect(key).not.toBe('');
    await page.reload();
    expect(await page.content()).not.toContain(key);
    expect(new URL(page.url()).pathname).toMatch(/\/keys$/);
    await page.goBack();
    await page.goForward();
    expect(await page.content()).not.toContain(key);
    expect(await listApplications('Once')).toHaveLength(1);
  });

  it('Back after a sign-out asks the console again, so that no key is shown from a cache', async () => {
    await signIn(`/applications/${samples.params.a}/keys`);
    await page.getByLabel('Name').fill('left behind');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.locator('.once code').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    // The login page is not reachable here.
    const asked = page.waitForRequest(/\/login\?intent=/);
    await page.goBack().catch(() => undefined);
    await asked;
  });

  it('a second Enter while Usher is busy sends nothing', async () => {
    await signIn('/applications/new');
    await page.getByLabel('Name', { exact: true }).fill('Twice');
    await page.getByLabel('Redirect URIs').fill('http://127.0.0.1/callback');
    const sent: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(request.url());
    });
    await page.getByRole('button', { name: 'Create' }).focus();
    await fixture.service.database.sql.begin(async (sql) => {
      await sql`lock table applications in exclusive mode`;
      const isSent = page.waitForRequest((request) => request.method() === 'POST');
      await page.keyboard.press('Enter');
      await isSent;
      await page.keyboard.press('Enter');
    });
    await page.locator('.once code').waitFor();
    expect(sent).toEqual([`${fixture.url}/applications/new`]);
  });

  it('what was typed is not lost to another form of the page without a question', async () => {
    await signIn(`/applications/${samples.params.a}`);
    const questions: string[] = [];
    page.on('dialog', (dialog) => {
      questions.push(dialog.type());
      void dialog.dismiss();
    });
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/form=choice/);
    expect(questions).toEqual([]);
    await page.getByLabel('Name', { exact: true }).fill('Half a na');
    await page.getByRole('button', { name: 'Show' }).click();
    await expect.poll(() => questions).toEqual(['beforeunload']);
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Half a na');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect(questions).toEqual(['beforeunload']);
  });

  it('a form that outlives the session is sent after a sign-in in another tab', async () => {
    await signIn('/users/new');
    await page.getByLabel('E-mail address').fill('late@example.com');
    fixture.clock.advance(16 * 60_000);
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Sign in, then send the form again' }).waitFor();
    const other = await context.newPage();
    await other.goto(fixture.createLink(OPERATORS.admin));
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.waitForURL(`${fixture.url}/`);
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByRole('heading', { level: 1, name: 'late@example.com' }).waitFor();
    expect(problems).toEqual([]);
  });
});

/** An operator without a mouse: presses keys, and knows of a page what a screen reader says of its focus. */
interface Focus {
  readonly role: string;
  readonly name: string;
  /** Whether one sees where the focus is. */
  readonly isSeen: boolean;
}

/** More than any page has stops. */
const MAX_STOPS = 80;

class Keyboard {
  /** Keys that were pressed, apart from texts, which are pasted. */
  pressed = 0;
  /** Stops at which nobody sees the focus. */
  readonly unseen: string[] = [];
  readonly #page: Page;
  readonly #session: CDPSession;

  private constructor(page: Page, session: CDPSession) {
    this.#page = page;
    this.#session = session;
  }

  static async of(page: Page): Promise<Keyboard> {
    return new Keyboard(page, await page.context().newCDPSession(page));
  }

  async press(key: string): Promise<void> {
    await this.#page.keyboard.press(key);
    this.pressed++;
  }

  /** Replaces the text of the field that has the focus. */
  async paste(text: string): Promise<void> {
    await this.press('Control+a');
    await this.#page.keyboard.insertText(text);
    this.pressed++;
  }

  /** Presses Tab until the focus has the role and the name. Returns the number of presses. */
  async tabTo(role: string, name: string): Promise<number> {
    const passed: string[] = [];
    while (passed.length < MAX_STOPS) {
      await this.press('Tab');
      const focus = await this.readFocus();
      passed.push(`${focus.role} ${focus.name}`);
      if (!focus.isSeen) this.unseen.push(`${focus.role} ${focus.name}`);
      if (focus.role === role && focus.name === name) return passed.length;
    }
    throw new Error(`No ${role} ${name} among ${passed.join(', ')}`);
  }

  /** Presses Enter, and waits for the page with the heading. */
  async enter(heading: string): Promise<void> {
    await this.press('Enter');
    await this.#page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
    await this.#page.waitForLoadState();
  }

  async readFocus(): Promise<Focus> {
    let node = await this.#readNode();
    // Chromium describes an element only after its layout, which a frame of the page may change.
    for (let frames = 0; node?.ignored && frames < 10; frames++) {
      await this.#page.evaluate('new Promise(requestAnimationFrame)');
      node = await this.#readNode();
    }
    const isSeen = await this.#page.evaluate<boolean>(`(() => {
      const focused = document.activeElement;
      if (focused === document.body) return true;
      const { top, bottom, width } = focused.getBoundingClientRect();
      const { outlineStyle, boxShadow } = getComputedStyle(focused);
      return bottom > 0 && top < innerHeight && width > 0 && (outlineStyle !== 'none' || boxShadow !== 'none');
    })()`);
    return { role: String(node?.role?.value ?? ''), name: String(node?.name?.value ?? ''), isSeen };
  }

  async #readNode() {
    const { result } = await this.#session.send('Runtime.evaluate', { expression: 'document.activeElement' });
    const { objectId = '' } = result;
    const described = await this.#session.send('Accessibility.getPartialAXTree', { objectId, fetchRelatives: false });
    return described.nodes[0];
  }
}
