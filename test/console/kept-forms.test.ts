/** What an operator has typed stays until it is saved, whoever is signed in meanwhile. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConsoleBrowser, ConsoleFixture, OPERATORS } from '../support/console-fixture.ts';
import { adminClient } from '../support/service.ts';

const MINUTE_MS = 60_000;

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
  expect(reply).toMatchObject({ status: 401, heading: 'Sign in, then send it again' });
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
  expect(reply).toMatchObject({ status: 401, heading: 'Sign in, then send it again' });
  expect(reply.text).toContain('This needs a sign-in of the last 15 minutes.');
  expect(reply.body).toContain('href="/login?fresh"');
  const again = await fixture.signIn(OPERATORS.admin);
  expect((await again.submit(reply, path)).text).toContain('This key is shown once.');
});

test('a form in which nothing was typed leads to the sign-in, and to its page', async () => {
  const reply = await new ConsoleBrowser(fixture.url).post('/users/new', { email: '', name: ' ' });
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
