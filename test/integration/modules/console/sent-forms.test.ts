/** Forms that come twice, as a double click sends them where there is no JavaScript. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../../src/modules/console/routes.ts';
import { stopTimer } from '../../../support/clock.ts';
import { ConsoleBrowser, ConsoleFixture, type ConsoleReply, OPERATORS } from '../../../support/console-fixture.ts';
import { fillPath, openSampledConsole } from '../../../support/console-samples.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.admin);

afterAll(() => fixture.close());

const countEvents = async (action: string) =>
  (await fixture.readAudit()).filter((event) => event.action === action).length;
const keysIn = ({ text }: ConsoleReply) => text.match(/usk_\w+/g);

describe('a form that is sent twice at once', () => {
  test.each([
    ['/users/new', 'AdminService/CreateUser', { email: 'twice@example.com' }],
    ['/applications/new', 'AdminService/CreateApplication', { name: 'Twice', redirectUris: 'http://127.0.0.1/' }],
    ['/applications/:a/keys', 'AdminService/CreateApiKey', { name: 'twice' }],
    [
      '/applications/:a/webhooks',
      'WebhookService/CreateWebhook',
      { url: 'https://hooks.test/twice', ownerId: ':u', eventTypes: '*' },
    ],
    ['/applications/:a/events', 'EventService/CreateEvent', { eventId: 'twice' }],
    ['/applications/:a/webhooks/:w/test', 'WebhookService/SendTestMessage', {}],
    ['/applications/:a/keys/:k/rotate', 'AdminService/RotateApiKey', {}],
    ['/applications/:a/webhooks/:w/rotate', 'WebhookService/RotateSigningKey', {}],
  ])('to %s is done once, and answered twice', async (route, action, typed) => {
    const path = fillPath(route, samples.params);
    const given = Object.entries(typed).map(([name, value]) => [name, value === ':u' ? samples.params.u : value]);
    const before = await countEvents(action);
    const page = await browser.open(path.replace(/\/test$/, ''));
    const sent = Object.fromEntries(given) as Record<string, string>;
    const [one, other] = await Promise.all([browser.submit(page, path, sent), browser.submit(page, path, sent)]);
    expect([one.status, other.status]).toEqual([200, 200]);
    expect(other.heading).toBe(one.heading);
    expect(keysIn(other)).toEqual(keysIn(one));
    expect((await countEvents(action)) - before).toBe(1);
    // A reload later, too.
    expect(keysIn(await browser.submit(page, path, sent))).toEqual(keysIn(one));
    expect((await countEvents(action)) - before).toBe(1);
  });
});

test('a form with other values is another form, also one that a browser has kept', async () => {
  const path = `/applications/${samples.params.a}/keys`;
  const page = await browser.open(path);
  const replies = [
    await browser.submit(page, path, { name: 'one' }),
    await browser.submit(page, path, { name: 'two' }),
  ];
  expect(new Set(replies.map((reply) => keysIn(reply)?.[0])).size).toBe(2);
});

test('a form that was refused can be sent again once it is right', async () => {
  const page = await browser.open('/users/new');
  const refused = await browser.submit(page, '/users/new', { email: samples.email });
  expect(refused.status).toBe(422);
  expect((await browser.submit(refused, '/users/new', { email: 'free@example.com' })).text).toContain('Created.');
});

test('another replica does not do it again, keeps what was typed, and does it if it is asked to', async () => {
  const { database, config } = fixture.service;
  await using replica = await ConsoleFixture.open({ database, like: config });
  const elsewhere = new ConsoleBrowser(replica.url);
  for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value);
  const page = await browser.open('/users/new');
  const typed = { email: 'elsewhere@example.com', name: 'Once' };
  const before = await countEvents('AdminService/CreateUser');
  expect((await browser.submit(page, '/users/new', typed)).text).toContain('Created.');
  const again = await elsewhere.submit(page, '/users/new', typed);
  expect(again).toMatchObject({ status: 409, heading: 'This form was sent before' });
  expect(again.forms.find(({ action }) => action === '/users/new')?.fields).toMatchObject(typed);
  expect((await countEvents('AdminService/CreateUser')) - before).toBe(1);
  expect((await elsewhere.submit(again, '/users/new')).text).toContain('User already exists');
});

test('a form that Postgres could not take is done when it is sent again', async () => {
  const { sql } = fixture.service.database;
  const page = await browser.open('/users/new');
  const typed = { email: 'later@example.com', name: 'Later' };
  await sql`alter table users add constraint refused check (email <> ${sql.unsafe("'later@example.com'")})`;
  const failed = await browser
    .submit(page, '/users/new', typed)
    .finally(() => sql`alter table users drop constraint refused`);
  expect(failed.status).toBeGreaterThanOrEqual(500);
  const again = await browser.submit(page, '/users/new', typed);
  expect(again.heading).toBe('This form was sent before');
  expect((await browser.submit(again, '/users/new')).text).toContain('Created.');
});

test('every form of every page can be told from its next sending', async () => {
  let count = 0;
  const pages = ROUTES.filter(
    ({ method, role, path }) => method === 'GET' && role !== 'anyone' && !/(\.\w+|\/preview)$/.test(path),
  );
  for (const { path } of pages) {
    const { body } = await browser.open(fillPath(path, samples.params));
    for (const [, form = ''] of body.matchAll(/<form method="post" (action="(?!\/sign-out).*?)<\/form>/gs)) {
      // A logo takes the place of the one before, however often it is sent.
      if (form.includes('multipart/form-data')) continue;
      count++;
      expect(form, path).toMatch(/<input type="hidden" name="sending" value="[-0-9a-f]{36}">/);
    }
  }
  expect(count).toBeGreaterThan(20);
});

describe('the answer to a form, with a new key in it,', () => {
  const path = `/applications/${samples.params.a}/keys`;
  const newKey = (name: string) => ({ sending: crypto.randomUUID(), name, expiresAt: '' });

  /** Runs the test while the operator has the role. */
  async function withRole(email: string, role: string, run: (operator: ConsoleBrowser) => Promise<void>) {
    const text = await readFile(fixture.operatorsFile, 'utf8');
    const operator = await fixture.signIn(email);
    const before = (await operator.open('/users/new')).status;
    const becomes = (status: number) =>
      expect.poll(async () => (await operator.open('/users/new')).status, { timeout: 30_000 }).toBe(status);
    await writeFile(fixture.operatorsFile, text.replace(new RegExp(`^${email} .*$`, 'm'), `${email} ${role}`));
    try {
      await becomes(role === 'admin' ? 200 : 403);
      await run(operator);
    } finally {
      await writeFile(fixture.operatorsFile, text);
      await becomes(before);
    }
  }

  test('is for the operator who sent it, and not for another admin who sends the same', async () => {
    const form = newKey('mine');
    const [mine] = keysIn(await browser.post(path, form)) ?? [];
    expect(mine).toBeDefined();
    await withRole(OPERATORS.support, 'admin', async (other) => {
      const reply = await other.post(path, form);
      expect(reply.status).toBe(200);
      expect(reply.body).not.toContain(mine);
    });
  });

  test('is not for the operator who has lost the role meanwhile', async () => {
    const form = newKey('lost');
    expect(keysIn(await browser.post(path, form))).toHaveLength(1);
    await withRole(OPERATORS.admin, 'viewer', async (operator) => {
      expect(await operator.post(path, form)).toMatchObject({ status: 403, body: expect.not.stringContaining('usk_') });
    });
  });

  test('is not for another browser of the operator, without a recent sign-in', async () => {
    const form = newKey('unattended');
    expect(keysIn(await browser.post(path, form))).toHaveLength(1);
    const unattended = new ConsoleBrowser(fixture.url);
    unattended.cookies.set('usher-console', browser.cookies.get('usher-console') ?? '');
    expect(await unattended.post(path, form)).toMatchObject({ status: 401, body: expect.not.stringContaining('usk_') });
  });

  test('is given again for a minute, and never later', async () => {
    const form = newKey('later');
    using timer = stopTimer();
    const keys = keysIn(await browser.post(path, form));
    expect(keys).toHaveLength(1);
    timer.advance(59_000);
    expect(keysIn(await browser.post(path, form))).toEqual(keys);
    timer.advance(2_000);
    expect(await browser.post(path, form)).toMatchObject({ status: 409, body: expect.not.stringContaining('usk_') });
  });
});
