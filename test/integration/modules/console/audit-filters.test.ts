/** The filters of the audit log take names and addresses, and find the sign-ins of a person. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { beginLogin, LoginBrowser } from '../../../support/login-browser.ts';
import { refuseSignIn } from '../../../support/restricted-access.ts';
import { adminClient, clientsOf, createTenant, createTestUser, type TestUser } from '../../../support/service.ts';

const fixture = await ConsoleFixture.open();
afterAll(() => fixture.close());
const { service, tenant, mailbox } = fixture;
let browser: ConsoleBrowser;
let ada: TestUser;
let adaId = '';
let operatorId = '';

beforeAll(async () => {
  browser = await fixture.signIn(OPERATORS.admin);
  ada = await createTestUser(service, { name: 'Grace Hopper' });
  adaId = ada.id;
  const person = new LoginBrowser(service);
  const page = await person.open((await beginLogin(service, tenant)).path);
  const codePage = await person.submit(page, '/login/email', { email: ada.email });
  await person.submit(codePage, '/login/code', { code: mailbox.codeFor(ada.email) });
  await refuseSignIn(service, tenant, ada);
  const [operator] = (await adminClient(service).listUsers({ email: OPERATORS.admin })).users;
  operatorId = operator?.id ?? '';
  // What an operator does by hand at the door is as frequent as scans.
  await clientsOf(service, tenant).events.createEvent({ eventId: 'door' });
  const event = `/applications/${tenant.id}/events/door`;
  await browser.submit(await browser.open(event), `${event}/check-ins`, { attendeeId: 'guest 1' });
  const deactivation = `/users/${adaId}/deactivate`;
  await browser.submit(await browser.open(deactivation), deactivation);
});

const find = async (filters: Record<string, string>) =>
  (await browser.open(`/audit?${new URLSearchParams(filters)}`)).text;

test.each([
  ['address', () => ada.email],
  ['address in capitals', () => ada.email.toUpperCase()],
  ['name', () => 'grace hopper'],
  ['beginning of a name', () => 'Grace H'],
  ['ID', () => adaId],
])('who is a person by %s: sign-ins and refusals are found', async (_, typed) => {
  const text = await find({ actor: typed() });
  expect(text).toContain('By Grace Hopper: sign-ins included.');
  expect(text).toMatch(/Grace Hopper Signed in by code Shop/);
  expect(text).toMatch(/Grace Hopper Was refused: not sure enough Shop/);
  // Others have done it.
  expect(text).not.toContain('AdminService/CreateUser');
});

test('what was done to a person is found by the address, sign-ins included', async () => {
  const text = await find({ resource: ada.email });
  expect(text).toContain('On Grace Hopper: sign-ins included.');
  for (const event of ['Signed in by code', 'Created a user', 'Deactivated a user']) expect(text).toContain(event);
  expect(await find({ resource: ada.email, action: 'POST /login/code' })).toContain('Signed in by code');
});

test('every row that shows an operator is found by that operator', async () => {
  const text = await find({ actor: OPERATORS.admin });
  for (const event of ['Checked somebody in', 'Deactivated a user', 'Began a session']) expect(text).toContain(event);
  expect(await find({ actor: operatorId, resource: adaId })).toContain('Deactivated a user');
});

test('two applications of one name can be told apart', async () => {
  const twin = await createTenant(service, { name: 'Shop', redirectUris: ['https://twin.example.com/callback'] });
  const reply = await browser.open('/audit?application=shop&action=');
  expect(reply.text).toMatch(/Several fit shop.*Shop.*twin\.example\.com/);
  expect(reply.body).toContain(`href="/audit?application=${twin.id}"`);
  expect(await find({ application: 'sh', actor: ada.email })).toContain('Several fit sh');
  await adminClient(service).deleteApplication({ applicationId: twin.id });
  expect(await find({ application: 'Shop', actor: ada.email })).toContain('Signed in by code');
});

test('what is shown is said in words, and nothing without a filter', async () => {
  const unknown = 'c0ffee00-0000-4000-8000-000000000000';
  expect(await find({ actor: unknown })).toContain(
    `By ${unknown}: sessions begun, renewed or ended, and check-ins are left out.`,
  );
  expect(await find({ actor: OPERATORS.admin, resource: adaId })).toContain(
    `By ${OPERATORS.admin}, on Grace Hopper: sign-ins included.`,
  );
  expect(await find({ actor: tenant.id })).toContain('By Shop: sessions begun');
  expect(await find({ resource: 'door' })).toContain('On door: sign-ins included.');
  for (const query of ['', '?since=1+Jan+2026']) {
    const { text, body } = await browser.open(`/audit${query}`);
    expect(text).not.toMatch(/sign-ins included|left out/);
    expect(body).not.toContain('<p class="small soft"></p>');
  }
  // Who is meant must be chosen first.
  const twin = await createTestUser(service, { name: 'Grace Hopper' });
  const several = await browser.open('/audit?actor=Grace+Hopper&page=x&since=');
  expect(several.text).not.toMatch(/sign-ins included|left out/);
  expect(several.body).toContain(`href="/audit?actor=${twin.id}"`);
  await adminClient(service).deleteUser({ userId: twin.id });
});

test('an address that nobody has is said to be nobody’s', async () => {
  expect(await find({ actor: 'nobody@example.com' })).toContain('Nobody has the address nobody@example.com.');
});

test('sign-ins of everybody are found by their action, 500 events at a time', async () => {
  expect(await find({ action: 'POST /login/code' })).toContain('Signed in by code');
  expect(await find({ action: 'POST /login/wallet' })).toContain('No events match.');
});

test('a download has the same filters', async () => {
  const { body } = await browser.open(`/audit.csv?${new URLSearchParams({ actor: ada.email })}`);
  expect(body).toContain('POST /login/code');
  expect(body).not.toContain('AdminService/CreateUser');
});

test('what an operator changed yesterday takes four steps: audit log, who, since and until, show', async () => {
  expect((await browser.open('/')).body).toContain('href="/audit"');
  const day = fixture.clock.read().toISOString().slice(0, 10);
  const text = await find({ actor: OPERATORS.admin, since: day, until: `${day}T23:59:59Z` });
  expect(text).toContain('Deactivated a user');
});
