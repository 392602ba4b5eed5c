/** The ten tasks of a help desk in a real browser: each in at most so many steps, from the overview. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { collectProblems, expectAccessible, launchChromium, SKIPS_CHROMIUM } from '../support/chromium.ts';
import { ConsoleFixture, OPERATORS } from '../support/console-fixture.ts';
import { type ConsoleSamples, createConsoleSamples } from '../support/console-samples.ts';
import { adminClient, createTestUser } from '../support/service.ts';

const DAY_MS = 86_400_000;

/** A step is a click, a choice, or a field that is filled in. Operators press the button of each form. */
class Walk {
  steps = 0;
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  async click(role: 'button' | 'link' | 'radio' | 'checkbox', name: string | RegExp): Promise<void> {
    this.steps++;
    // The name of a table may also be that of a link in the menu.
    const isExact = typeof name === 'string';
    await this.page.getByRole(role, { name, exact: isExact }).first().click();
  }

  async fill(label: string, text: string): Promise<void> {
    this.steps++;
    // The list of what a field offers has the same label.
    await this.page.getByLabel(label, { exact: true }).first().fill(text);
  }

  async openTab(name: string): Promise<void> {
    this.steps++;
    await this.page.getByRole('navigation', { name: 'Application' }).getByRole('link', { name }).click();
  }

  async see(text: string | RegExp): Promise<void> {
    await this.page.locator('main').getByText(text).first().waitFor();
  }

  /** Finds something by its address or ID: two steps. */
  async find(text: string): Promise<void> {
    await this.fill('Find by address or ID', text);
    await this.click('button', 'Find');
  }
}

interface Scene extends ConsoleSamples {
  readonly fixture: ConsoleFixture;
}

type Task = readonly [
  name: string,
  most: number,
  go: (walk: Walk, scene: Scene) => Promise<void>,
  prepare?: (scene: Scene) => Promise<void>,
];

const TASKS: readonly Task[] = [
  [
    'why somebody could not sign in',
    3,
    async (walk, { email }) => {
      await walk.find(email);
      await walk.see('Last attempts');
      await walk.see(/not sure enough/i);
    },
  ],
  [
    'let one more person in',
    5,
    async (walk, { fixture, params }) => {
      await adminClient(fixture.service).updateApplication({ applicationId: params.a, restrictAccess: true });
      const { email } = await createTestUser(fixture.service, { name: 'Grace Hopper' });
      await walk.click('link', 'Applications');
      await walk.click('link', 'Shop');
      await walk.openTab('Users');
      await walk.fill('E-mail address or ID of a user', email);
      await walk.click('button', 'Let in');
      await walk.see('May sign in now.');
    },
  ],
  [
    'lost passkey and mailbox',
    7,
    async (walk, { email }) => {
      await walk.find(email);
      await walk.click('link', 'Ada has lost …');
      // What may be lost is ticked: the address, the passkeys and whatever else somebody in the mailbox may have added.
      expect(await walk.page.getByRole('checkbox', { checked: true }).count()).toBe(4);
      await walk.fill('Why, and how you know who it is', 'Called from her desk, and her manager knows her voice');
      await walk.click('button', 'Make link and code');
      await walk.see('2. Read out these digits');
      await walk.click('button', /^Copy .*\/recover#/);
      expect(await walk.page.evaluate<string>('navigator.clipboard.readText()')).toMatch(/\/recover#[\w-]{43}$/);
    },
  ],
  [
    'a restricted product with roles for one person',
    14,
    async (walk, { fixture, params, email }) => {
      await walk.click('link', 'Groups');
      await walk.fill('Name', 'grafana-admins');
      await walk.fill('First member', email);
      await walk.click('button', 'Create');
      await walk.see('Ada Lovelace');
      await walk.click('link', 'Applications');
      await walk.click('link', 'Create an application');
      await walk.click('radio', /^Product/);
      await walk.fill('Name', 'Grafana');
      await walk.fill('Redirect URIs', 'https://grafana.test/login/generic_oauth');
      await walk.click('checkbox', /^Only people whom you let in/);
      await walk.click('button', 'Create');
      await walk.see('The key is shown once.');
      await walk.openTab('Groups');
      await walk.fill('Name of the group', 'grafana-admins');
      await walk.click('button', 'Add');
      await walk.see('grafana-admins');
      const { sql } = fixture.service.database;
      const [let_in] = await sql`
        select g.allows_access, g.in_claim, a.restrict_access from application_groups g
        join applications a on a.id = g.application_id join group_members m on m.group_id = g.group_id
        where a.name = 'Grafana' and m.user_id = ${params.u}`;
      expect(let_in).toEqual({ allows_access: true, in_claim: true, restrict_access: true });
    },
  ],
  [
    'rotate a key',
    4,
    async (walk, { fixture, keyName }) => {
      const { sql } = fixture.service.database;
      await sql`update api_keys set expires_at = ${new Date(+fixture.clock.read() + DAY_MS)} where name = ${keyName}`;
      await walk.click('link', 'Health');
      await walk.click('link', `${keyName} of Shop`);
      await walk.page
        .getByRole('row', { name: new RegExp(`^${keyName}`) })
        .getByRole('link', { name: /^Rotate…/ })
        .click();
      walk.steps++;
      await walk.click('button', 'Rotate');
      await walk.see('This key is shown once.');
    },
  ],
  [
    'import a list',
    5,
    async (walk, { fixture }) => {
      await walk.click('link', 'Users');
      await walk.click('link', /^Import/);
      const lines = 'email,name\nnew1@example.com,New One\nnew2@example.com,New Two\n';
      await walk.page.locator('input[type=file]').setInputFiles({
        name: 'people.csv',
        mimeType: 'text/csv',
        buffer: Buffer.from(lines),
      });
      walk.steps++;
      await walk.click('button', 'Check the file');
      await walk.click('button', 'Import 2 people');
      await walk.see('Imported: 2 new.');
      const { users } = await adminClient(fixture.service).listUsers({ email: 'new2@example.com' });
      expect(users).toHaveLength(1);
    },
  ],
  [
    'end all sessions of a person',
    3,
    async (walk, { email }) => {
      await walk.find(email);
      await walk.click('button', 'End all sessions');
      await walk.see('The sessions have ended.');
    },
  ],
  [
    'a test e-mail',
    2,
    async (walk, { fixture }) => {
      await walk.click('link', 'Health');
      await walk.click('button', 'Send me a test e-mail');
      await walk.see('Sent.');
      expect(fixture.mailbox.mails.map(({ kind }) => kind)).toContain('test e-mail');
    },
  ],
  [
    'find what an operator changed yesterday',
    4,
    async (walk, { fixture }) => {
      await walk.click('link', 'Audit log');
      await walk.fill('Who', OPERATORS.admin);
      await walk.fill('From (UTC)', new Date(+fixture.clock.read() - DAY_MS).toISOString().slice(0, 10));
      await walk.click('button', 'Show');
      await walk.see('of-yesterday');
    },
    async ({ fixture }) => {
      const browser = await fixture.signIn(OPERATORS.admin);
      await browser.submit(await browser.open('/groups'), '/groups', { name: 'of-yesterday' });
      fixture.clock.advance(DAY_MS);
    },
  ],
  [
    'who was refused at the door',
    3,
    async (walk, { params }) => {
      await walk.find(params.e);
      await walk.click('link', 'Refusals');
      await walk.see('eve');
    },
  ],
];

describe.skipIf(SKIPS_CHROMIUM)('in Chromium', () => {
  let scene: Scene;
  let chrome: Browser;
  let page: Page;

  beforeAll(async () => {
    const fixture = await ConsoleFixture.open();
    const samples = await createConsoleSamples(fixture);
    scene = { fixture, ...samples };
    chrome = await launchChromium();
  });
  afterEach(() => page.context().close());
  afterAll(async () => {
    await chrome?.close();
    await scene?.fixture.close();
  });

  async function signIn() {
    const { fixture } = scene;
    const permissions = ['clipboard-read', 'clipboard-write'];
    const context = await chrome.newContext({ permissions, locale: 'en' });
    const problems = collectProblems(context);
    page = await context.newPage();
    page.setDefaultTimeout(15_000);
    fixture.clock.advance(1_000);
    await page.goto(fixture.createLink(OPERATORS.admin));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${fixture.url}/`);
    return problems;
  }

  it.each(TASKS.map((task) => ({ name: task[0], most: task[1], task })))(
    '$name: at most $most steps',
    async ({ most, task: [, , go, prepare] }) => {
      await prepare?.(scene);
      const problems = await signIn();
      const walk = new Walk(page);
      await go(walk, scene);
      expect(walk.steps).toBeLessThanOrEqual(most);
      await expectAccessible(page);
      expect(problems).toEqual([]);
    },
  );
});
