/** What an operator has typed stays until it is saved, whoever is signed in meanwhile. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { adminClient } from '../../../support/service.ts';

const MINUTE_MS = 60_000;
const WAIT = { timeout: 30_000, interval: 200 };

let fixture: ConsoleFixture;

beforeAll(async () => {
  fixture = await ConsoleFixture.open();
});

afterAll(() => fixture.close());

test('a form is kept whose session has ended, and is sent after a new sign-in', async () => {
  const browser = await fixture.signIn(OPERATORS.admin);
  fixture.clock.advance(16 * MINUTE_MS);
  const name = '"Grace" <b>&';
  const reply = await browser.post('/users/new', { email: 'grace@example.com', name });
  expect(reply).toMatchObject({ status: 401, heading: 'Sign in, then send the form again' });
  expect(reply.headers['cache-control']).toBe('no-store');
  expect(reply.body).toContain('<a class="button" href="/login" target="_blank">');
  const again = await fixture.signIn(OPERATORS.admin);
  expect((await again.submit(reply, '/users/new')).text).toContain('Created.');
  const { users } = await adminClient(fixture.service).listUsers({ email: 'grace@example.com' });
  expect(users[0]?.name).toBe(name);
});

test('a key is kept for whose creation the sign-in is too old', async () => {
  const browser = await fixture.signIn(OPERATORS.admin);
  const path = `/applications/${fixture.tenant.id}/keys`;
  for (let minutes = 0; minutes < 16; minutes += 8) {
    fixture.clock.advance(8 * MINUTE_MS);
    await browser.open(path);
  }
  const reply = await browser.post(path, { name: 'deploy', expiresAt: '' });
  expect(reply).toMatchObject({ status: 401, heading: 'Sign in, then send the form again' });
  expect(reply.text).toContain('This needs a sign-in of the last 15 minutes.');
  expect(reply.body).toContain('href="/login?fresh"');
  const again = await fixture.signIn(OPERATORS.admin);
  expect((await again.submit(reply, path)).text).toContain('This key is shown once.');
});

test('a form is kept whose operator has lost the role, or is an operator no more, and is sent once that is undone', async () => {
  const text = await readFile(fixture.operatorsFile, 'utf8');
  const operators = (line: string) => writeFile(fixture.operatorsFile, text.replace(/^ada@.*$/m, line));
  const browser = await fixture.signIn(OPERATORS.admin);
  const name = '"Joan" <b>&';
  for (const [line, heading] of [
    ['ada@example.com viewer', 'Your role does not allow this'],
    ['', 'You cannot use the console'],
    ['ada@example.com admin passkey', 'You cannot use the console'],
  ] as const) {
    await operators(line);
    await vi.waitFor(async () => expect((await browser.open('/users/new')).heading).toBe(heading), WAIT);
    const kept = await browser.post('/users/new', { email: 'joan@example.com', name });
    expect(kept).toMatchObject({ status: 403, heading });
    expect(kept.text).toContain('What you typed is kept here.');
    expect((await browser.open('/users/new')).text).not.toContain('What you typed');
    await operators('ada@example.com admin');
    await vi.waitFor(async () => expect((await browser.open('/users/new')).status).toBe(200), WAIT);
    const sent = await browser.submit(kept, '/users/new');
    expect(sent.text).toContain(line.endsWith('viewer') ? 'Created.' : 'User already exists');
  }
  const { users } = await adminClient(fixture.service).listUsers({ email: 'joan@example.com' });
  expect(users[0]?.name).toBe(name);
});

test('a form in which nothing was typed leads to the sign-in, and to its page', async () => {
  const reply = await new ConsoleBrowser(fixture.url).post('/users/new', {
    email: '',
    name: ' ',
    sending: 'x',
    version: 'y',
  });
  expect(reply).toMatchObject({ status: 303, location: '/login?to=%2Fusers%2Fnew' });
});

test('nobody gets a long answer without a session', async () => {
  const stranger = new ConsoleBrowser(fixture.url);
  const fields = Array.from({ length: 4_000 }, (): [string, string] => ['a', '&']);
  expect(await stranger.post('/users/new', fields.slice(0, 2_500))).toMatchObject({ status: 303, body: '' });
  const { status, body } = await stranger.post('/users/new', { name: '&'.repeat(5_000) });
  expect(status).toBe(401);
  expect(body.length).toBeLessThan(128 * 1_024);
});
