/** Two applications of one name are told apart wherever the console or the account page names one. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openAccount } from '../../../support/account-page.ts';
import { type ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { textOf } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { refuseSignIn } from '../../../support/restricted-access.ts';
import {
  adminClient,
  beginSession,
  clientsOf,
  createTenant,
  createTestUser,
  REDIRECT_URI,
  type TestUser,
} from '../../../support/service.ts';

const DAY_MS = 86_400_000;
const fixture = await ConsoleFixture.open();
const login = await LoginFixture.open();
afterAll(async () => {
  await fixture.close();
  await login.close();
});
const { service } = fixture;
const admin = adminClient(service);
let browser: ConsoleBrowser;
let user: TestUser;
let twins: Awaited<ReturnType<typeof createTwins>>;

/** Two of one host, one of another whose name is written differently, and one whose name nothing else has. */
const TWINS = [
  ['Twin', 'https://one.test/a'],
  ['Twin', 'https://one.test/b'],
  ['twin', 'https://two.test:8443/a'],
  ['Single', 'https://one.test/a'],
] as const;

async function createTwins(of: { url: string }) {
  const tenants = [];
  for (const [name, uri] of TWINS) tenants.push(await createTenant(of, { name, redirectUris: [uri, REDIRECT_URI] }));
  const [one, other] = tenants.map(({ clientId }) => clientId.slice(-6));
  return { tenants, labels: [`Twin (…${one})`, `Twin (…${other})`, 'twin (two.test:8443)', 'Single'] };
}

beforeAll(async () => {
  browser = await fixture.signIn(OPERATORS.admin);
  user = await createTestUser(service, { name: 'Grace' });
  twins = await createTwins(service);
  for (const tenant of twins.tenants) {
    await beginSession(service, tenant, user);
    await refuseSignIn(service, tenant, user);
    const { webhooks } = clientsOf(service, tenant);
    await webhooks.createWebhook({ url: 'https://hooks.test/', eventTypes: ['*'], ownerId: user.id });
  }
  const { sql } = service.database;
  await sql`update webhooks set disabled_reason = 'gone', is_active = false`;
  await sql`update api_keys set expires_at = ${new Date(Date.now() + DAY_MS)}`;
});

test.each([
  ['list of applications', () => '/applications'],
  ['attempts', () => '/attempts'],
  ['applications of a user', () => `/users/${user.id}`],
  ['sessions of a user', () => `/users/${user.id}/sessions`],
  ['audit log', () => `/audit?actor=${user.id}`],
  ['disabled webhooks on the overview', () => '/'],
  ['ending keys on Health', () => '/health'],
])('%s', async (_, path) => {
  const { text } = await browser.open(path());
  for (const label of twins.labels) expect(text).toContain(label);
  expect(text).not.toMatch(/Single \(/);
});

test('offers and filters take what tells them apart, and nobody who has the same name', async () => {
  const { labels, tenants } = twins;
  const person = await createTestUser(service, { name: 'Twin' });
  const offers: { value: string }[] = JSON.parse((await browser.open('/offers?of=application&q=twin')).body);
  expect(offers.map(({ value }) => value).sort()).toEqual(labels.slice(0, 3).sort());
  const people: { value: string }[] = JSON.parse((await browser.open('/offers?of=user&q=twin')).body);
  expect(people.map(({ value }) => value)).toEqual([person.email]);
  for (const [at, label] of labels.entries()) {
    const { body } = await browser.open(`/audit?${new URLSearchParams({ application: label })}`);
    for (const { id } of tenants) expect(body.includes(`/applications/${id}"`)).toBe(id === tenants[at]?.id);
  }
});

test('a text that is longer than any name is refused, and has no offers', async () => {
  const status = async (length: number) => (await browser.open(`/offers?of=user&q=${'x'.repeat(length)}`)).status;
  expect([await status(255), await status(256)]).toEqual([200, 400]);
});

test('the account page', async () => {
  const { labels, tenants } = await createTwins(login.service);
  const person = await createTestUser(login.service);
  for (const tenant of tenants) await beginSession(login.service, tenant, person);
  const { page } = await openAccount(login, person);
  for (const label of labels) expect(textOf(page.body)).toContain(label);
});

test('a name is alone again when the other applications are deleted', async () => {
  const [, other, third] = twins.tenants;
  for (const gone of [other, third]) await admin.deleteApplication({ applicationId: gone?.id ?? '' });
  const { text } = await browser.open('/applications');
  expect(text).toContain('Twin');
  expect(text).not.toMatch(/Twin \(/);
});
