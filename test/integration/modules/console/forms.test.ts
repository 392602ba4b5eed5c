/** Every action of the console, by its forms without JavaScript. Each leaves an event in the audit log. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../../src/modules/console/routes.ts';
import { type ConsoleBrowser, ConsoleFixture, type ConsoleReply, OPERATORS } from '../../../support/console-fixture.ts';
import { type ConsoleSamples, createConsoleSamples, fillPath } from '../../../support/console-samples.ts';
import { adminClient, beginSession, clientsOf, createTenant, createTestUser } from '../../../support/service.ts';

let fixture: ConsoleFixture;
let samples: ConsoleSamples;
let browser: ConsoleBrowser;
let operatorId: string;

beforeAll(async () => {
  fixture = await ConsoleFixture.open();
  samples = await createConsoleSamples(fixture);
});

beforeEach(async () => {
  browser = await fixture.signIn(OPERATORS.admin);
  const { users } = await adminClient(fixture.service).listUsers({ email: OPERATORS.admin });
  operatorId = users[0]?.id ?? '';
});

afterAll(() => fixture.close());

/** Submits a form of the page, and expects its event in the log with the operator. */
async function submit(
  path: string,
  action: string,
  typed: Record<string, string>,
  name: string,
): Promise<ConsoleReply> {
  fixture.clock.advance(1_000);
  const page = await browser.follow(path);
  fixture.clock.advance(1_000);
  const reply = await browser.submit(page, action, typed);
  expect({ action, status: reply.status, text: reply.text }).toEqual({ action, status: 200, text: reply.text });
  const [latest] = await fixture.readAudit();
  expect(latest).toMatchObject({ actor: operatorId, action: name });
  return reply;
}

describe('a user', () => {
  test('is created, changed, signed out, deactivated, reactivated and deleted', async () => {
    const created = await submit(
      '/users/new',
      '/users/new',
      { email: 'joan@example.com', name: 'Joan Clarke' },
      'AdminService/CreateUser',
    );
    expect(created.text).toContain('Created.');
    const { users } = await adminClient(fixture.service).listUsers({ email: 'joan@example.com' });
    const path = `/users/${users[0]?.id}`;
    const changed = await submit(path, path, { name: 'Joan Murray' }, 'AdminService/UpdateUser');
    expect(changed.heading).toBe('Joan Murray');
    await beginSession(fixture.service, fixture.tenant, { id: users[0]?.id ?? '' });
    await submit(path, `${path}/end-sessions`, {}, 'AdminService/EndUserSessions');
    expect((await browser.open(path)).text).toContain('No live session.');
    const off = await submit(`${path}/deactivate`, `${path}/deactivate`, {}, 'AdminService/DeactivateUser');
    expect(off.text).toContain('Deactivated');
    await submit(path, `${path}/reactivate`, {}, 'AdminService/ReactivateUser');
    const name = 'joan@example.com';
    await submit(`${path}/delete`, `${path}/delete`, { name }, 'AdminService/DeleteUser');
    expect((await browser.open(path)).status).toBe(404);
  });

  test('has an external ID and attributes, which a form that is refused keeps', async () => {
    const user = await createTestUser(fixture.service);
    const other = await createTestUser(fixture.service);
    const path = `/users/${user.id}`;
    const attributes = '{"plan":"pro","seats":5}';
    await submit(path, path, { externalId: 'crm-1', attributes }, 'AdminService/UpdateUser');
    const stored = async (userId: string) => (await adminClient(fixture.service).getUser({ userId })).user;
    expect(await stored(user.id)).toMatchObject({ externalId: 'crm-1', attributes: { plan: 'pro', seats: 5 } });
    // What the form shows, it stores.
    await submit(path, path, { name: 'Joan' }, 'AdminService/UpdateUser');
    expect(await stored(user.id)).toMatchObject({ externalId: 'crm-1', attributes: { plan: 'pro', seats: 5 } });
    for (const [field, typed] of [
      ['attributes', { attributes: '{"plan":' }],
      ['attributes', { attributes: '{"sub":"x"}' }],
      ['externalId', { externalId: 'crm-1' }],
    ] as const) {
      const refused = await browser.submit(await browser.open(`/users/${other.id}`), `/users/${other.id}`, typed);
      expect(refused).toMatchObject({ status: 422, body: expect.stringContaining(`id="${field}-wrong"`) });
      expect(refused.body).toContain(Object.values(typed)[0]?.replaceAll('"', '&#34;'));
    }
    await submit(path, path, { externalId: '', attributes: '' }, 'AdminService/UpdateUser');
    expect(await stored(user.id)).not.toMatchObject({ externalId: expect.anything() });
    expect((await stored(user.id))?.attributes).toBeUndefined();
  });

  test('shows an application the attributes that its settings list', async () => {
    const path = `/applications/${fixture.tenant.id}`;
    await submit(path, path, { attributeClaims: 'plan\r\nseats' }, 'AdminService/UpdateApplication');
    const { application } = await adminClient(fixture.service).getApplication({ applicationId: fixture.tenant.id });
    expect(application?.attributeClaims).toEqual(['plan', 'seats']);
  });

  test('is erased only if the name is typed, and never by oneself', async () => {
    const user = await createTestUser(fixture.service);
    const path = `/users/${user.id}/erase`;
    const refused = await browser.submit(await browser.open(path), path, { name: 'another' });
    expect(refused).toMatchObject({ status: 422 });
    await submit(path, path, { name: user.email }, 'AdminService/EraseUser');
    const own = `/users/${operatorId}/delete`;
    const kept = await browser.submit(await browser.open(own), own, { name: OPERATORS.admin });
    expect(kept).toMatchObject({ status: 422 });
    expect(kept.text).toContain('must not be your own');
  });

  test('whose address is taken is refused at the field, with what was typed', async () => {
    const page = await browser.open('/users/new');
    const reply = await browser.submit(page, '/users/new', { email: samples.email, name: 'Somebody' });
    expect(reply.status).toBe(422);
    expect(reply.body).toMatch(/<p class="wrong" id="email-wrong"><bdi>User already exists<\/bdi>/);
    expect(reply.forms.find(({ action }) => action === '/users/new')?.fields).toMatchObject({
      email: samples.email,
      name: 'Somebody',
    });
  });
});

describe('an application', () => {
  test('is created with a key that works, gets another, is changed and deleted', async () => {
    const form = { name: 'Bakery', redirectUris: 'https://bakery.test/a\r\nhttps://bakery.test/b' };
    const created = await submit('/applications/new', '/applications/new', form, 'AdminService/CreateApplication');
    const [firstKey = ''] = /usk_\w+/.exec(created.text) ?? [];
    expect(await clientsOf(fixture.service, { apiKey: firstKey }).events.listEvents({})).toMatchObject({ events: [] });
    const { applications } = await adminClient(fixture.service).listApplications({});
    const id = applications.find(({ name }) => name === 'Bakery')?.id;
    const path = `/applications/${id}`;
    const keys = await submit(`${path}/keys`, `${path}/keys`, { name: 'second' }, 'AdminService/CreateApiKey');
    const [apiKey = ''] = /usk_\w+/.exec(keys.text) ?? [];
    await clientsOf(fixture.service, { apiKey }).events.listEvents({});
    expect((await browser.open(`${path}/keys`)).text).not.toContain('usk_');
    await submit(path, path, { accentColor: '#112233', name: 'Corner bakery' }, 'AdminService/UpdateApplication');
    const { application } = await adminClient(fixture.service).getApplication({ applicationId: id ?? '' });
    expect(application).toMatchObject({
      name: 'Corner bakery',
      accentColor: '#112233',
      redirectUris: ['https://bakery.test/a', 'https://bakery.test/b'],
      loginMethods: [],
    });
    const name = 'Corner bakery';
    await submit(`${path}/delete`, `${path}/delete`, { name }, 'AdminService/DeleteApplication');
    expect((await browser.open(path)).status).toBe(404);
  });

  test('invites somebody, shows the mistake of a form, and revokes the invitation', async () => {
    const path = `/applications/${samples.params.a}/invitations`;
    const email = 'grace@invited.test';
    const wrong = await browser.submit(await browser.open(path), path, { email, expiresInDays: '91' });
    expect(wrong.text).toContain('must be 1 to 90');
    const listed = await submit(path, path, { email, locale: 'de' }, 'AdminService/InviteUser');
    expect(listed.text).toMatch(/grace@invited\.test[\s\S]*Open/);
    await submit(path, `${path}/revoke`, {}, 'UserService/RevokeInvitation');
    expect((await browser.open(path)).text).not.toContain(email);
  });

  test('with a wrong redirect URI is refused with the line', async () => {
    const path = `/applications/${samples.params.a}`;
    const redirectUris = 'https://shop.test/a\nhttp://shop.test/b';
    const reply = await browser.submit(await browser.open(path), path, { redirectUris });
    expect(reply.status).toBe(422);
    expect(reply.text).toContain('Refused: line 2.');
  });

  test('has a key rotated and revoked', async () => {
    const { a, k } = samples.params;
    const path = `/applications/${a}/keys/${k}`;
    const name = samples.keyName;
    const asked = await browser.submit(await browser.open(`${path}/rotate`), `${path}/rotate`, { overlapSeconds: '0' });
    expect(asked).toMatchObject({ status: 422, text: expect.stringContaining('must be the name below') });
    const rotated = await submit(`${path}/rotate`, `${path}/rotate`, {}, 'AdminService/RotateApiKey');
    expect(rotated.text).toMatch(/usk_/);
    const again = await browser.submit(asked, `${path}/rotate`, { name });
    expect(again).toMatchObject({ status: 422 });
    expect(again.text).toContain('API key already replaced');
    await submit(`${path}/revoke`, `${path}/revoke`, { name }, 'AdminService/RevokeApiKey');
  });

  test('has the session of a user ended', async () => {
    const user = await createTestUser(fixture.service);
    await beginSession(fixture.service, fixture.tenant, user);
    const path = `/applications/${samples.params.a}/sessions`;
    const end = `${path}/end`;
    await submit(`${path}?user=${user.id}`, end, { userId: user.id }, 'SessionService/RevokeUserSessions');
    expect((await browser.open(`${path}?user=${user.id}`)).text).toContain('No live session.');
  });
});

test('what asks for a name does nothing with another one', async () => {
  const asking = ROUTES.filter(({ method, isSensitive }) => method === 'GET' && isSensitive);
  let count = 0;
  const before = await fixture.readAudit();
  for (const route of asking) {
    const path = fillPath(route.path, samples.params);
    const page = await browser.open(path);
    if (!page.forms.some(({ action, fields }) => action === path && 'name' in fields)) continue;
    count++;
    const reply = await browser.submit(page, path, { name: 'another' });
    expect({ path: route.path, status: reply.status }).toEqual({ path: route.path, status: 422 });
    expect(reply.text).toContain('must be the name below');
  }
  expect(count).toBeGreaterThan(5);
  expect(await fixture.readAudit()).toEqual(before);
});

test('what asks for a name takes it as one sees it', async () => {
  const { application } = await adminClient(fixture.service).createApplication({
    name: 'Bu\u0308cher  \u202eLaden',
    redirectUris: ['http://127.0.0.1/'],
  });
  const path = `/applications/${application?.id}/delete`;
  const page = await browser.open(path);
  expect((await browser.submit(page, path, { name: 'Bücher' })).status).toBe(422);
  expect((await browser.submit(page, path, { name: ' Bücher Laden' })).text).toContain('Deleted.');
});

describe('a webhook', () => {
  test('is created, changed, tested, redelivered, gets another key and is deleted', async () => {
    const list = `/applications/${samples.params.a}/webhooks`;
    const url = 'https://hooks.test/second';
    const given = { url, ownerId: samples.params.u, eventTypes: '*' };
    await submit(list, list, given, 'WebhookService/CreateWebhook');
    const { webhooks } = await clientsOf(fixture.service, fixture.tenant).webhooks.listWebhooks({});
    const id = webhooks.find((webhook) => webhook.url === url)?.webhookId;
    const path = `${list}/${id}`;
    const changed = await submit(path, path, { description: 'The second' }, 'WebhookService/UpdateWebhook');
    expect(changed.text).toContain('The second');
    await submit(path, `${path}/test`, {}, 'WebhookService/SendTestMessage');
    await submit(`${path}/resend`, `${path}/resend`, {}, 'WebhookService/RedeliverFailed');
    await submit(`${path}/rotate`, `${path}/rotate`, {}, 'WebhookService/RotateSigningKey');
    await submit(`${path}/delete`, `${path}/delete`, { name: url }, 'WebhookService/DeleteWebhook');
  });

  test('is redelivered by a form that was open for ten minutes', async () => {
    const path = `/applications/${samples.params.a}/webhooks/${samples.params.w}/resend`;
    const page = await browser.open(path);
    fixture.clock.advance(10 * 60_000);
    const reply = await browser.submit(page, path);
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('The redelivery has started.');
  });

  test('with an internal address is refused at the field, in a form that is open again', async () => {
    const list = `/applications/${samples.params.a}/webhooks`;
    const given = { url: 'http://169.254.169.254/', ownerId: samples.params.u, eventTypes: '*' };
    const folded = '<details class="panel"><summary>Create a webhook';
    expect((await browser.open(list)).body).toContain(folded);
    const reply = await browser.submit(await browser.open(list), list, given);
    expect(reply.status).toBe(422);
    expect(reply.body).toContain('id="url-wrong"');
    expect(reply.body).toContain('<details class="panel" open><summary>Create a webhook');
  });

  test('gets its owner by an e-mail address, which is that of a user of the application', async () => {
    const list = `/applications/${samples.params.a}/webhooks`;
    const page = await browser.open(list);
    const given = { url: 'https://hooks.test/owned', eventTypes: '*' };
    const created = await browser.submit(page, list, { ...given, ownerId: samples.email.toUpperCase() });
    expect(created.text).toContain(`Owner${samples.email}`);
    const stranger = await createTestUser(fixture.service);
    const refused = await browser.submit(page, list, { ...given, ownerId: stranger.email });
    expect(refused.status).toBe(422);
    expect(/id="ownerId-wrong">(.*?)<\/p>/.exec(refused.body)?.[1]).toContain('must be a user of the application');
    expect(refused.body).toContain(`value="${stranger.email}"`);
    const byId = await browser.submit(page, list, { ...given, ownerId: stranger.id });
    expect(byId.body).toContain('id="ownerId-wrong"');
    await adminClient(fixture.service).addApplicationUser({ applicationId: samples.params.a, userId: stranger.id });
    const added = await browser.submit(await browser.open(list), list, { ...given, ownerId: stranger.email });
    expect(added.text).toContain(`Owner${stranger.email}`);
  });

  test('belongs to the operator, who becomes a user of the application, if no owner is given', async () => {
    const { application } = await adminClient(fixture.service).createApplication({
      name: 'Owned',
      redirectUris: ['http://127.0.0.1/'],
    });
    const list = `/applications/${application?.id}/webhooks`;
    const typed = { url: 'https://hooks.test/own', eventTypes: '*' };
    const created = await browser.submit(await browser.open(list), list, typed);
    expect(created.text).toContain(`Owner${OPERATORS.admin}`);
    const path = created.forms.find(({ action }) => action.endsWith('/test'))?.action.replace('/test', '') ?? '';
    const changed = await browser.submit(created, path, { ownerId: '', description: 'Still mine' });
    expect(changed.text).toContain(`Owner${OPERATORS.admin}`);
    const actions = (await fixture.readAudit()).map(({ action }) => action).slice(0, 6);
    expect(actions).toEqual(
      expect.arrayContaining(['AdminService/AddApplicationUser', 'WebhookService/UpdateWebhook']),
    );
  });

  test('has a message sent again, whose payload and headers support sees, and a viewer does not', async () => {
    const { a, w, m } = samples.params;
    const path = `/applications/${a}/webhooks/${w}/deliveries/${m}`;
    const reply = await submit(path, `${path}/resend`, {}, 'WebhookService/Redeliver');
    expect(reply.text).toContain('"type": "webhook.test"');
    const viewer = await fixture.signIn(OPERATORS.viewer);
    expect((await viewer.open(path)).text).not.toContain('"type"');
    const webhook = `/applications/${a}/webhooks/${w}`;
    expect((await browser.open(webhook)).text).toContain('whsec_');
    for (const email of [OPERATORS.viewer, OPERATORS.support]) {
      expect((await (await fixture.signIn(email)).open(webhook)).body).not.toContain('whsec_');
    }
  });
});

test('an event is created, somebody checks in, twice and not at all, and it is deleted', async () => {
  const list = `/applications/${samples.params.a}/events`;
  const eventId = 'night #2/b?';
  await submit(list, list, { eventId, name: 'Second night' }, 'EventService/CreateEvent');
  const path = `${list}/${encodeURIComponent(eventId)}`;
  const came = await submit(path, `${path}/check-ins`, { attendeeId: 'ada' }, 'EventService/CheckIn');
  expect(came.text).toContain('Checked in.');
  const again = await browser.submit(await browser.open(path), `${path}/check-ins`, { attendeeId: 'ada' });
  expect(again.text).toContain('Already checked in at');
  const undone = await submit(path, `${path}/check-ins/undo`, { attendeeId: 'ada' }, 'EventService/UndoCheckIn');
  expect(undone.text).toContain('Nobody has come yet.');
  await submit(`${path}/delete`, `${path}/delete`, { name: eventId }, 'EventService/DeleteEvent');
});

describe('the search box', () => {
  test.each([
    ['an e-mail address', () => samples.email, () => `/users/${samples.params.u}`],
    ['a user ID', () => samples.params.u.toUpperCase(), () => `/users/${samples.params.u}`],
    ['an application ID', () => samples.params.a, () => `/applications/${samples.params.a}`],
    ['a webhook ID', () => samples.params.w, () => `/applications/${samples.params.a}/webhooks/${samples.params.w}`],
    ['a key ID', () => samples.params.k, () => `/audit?resource=${samples.params.k}`],
    ['a wallet', () => '0xabc', () => '/users?wallet=0xabc'],
    ['the beginning of an address', () => 'ada', () => '/users?prefix=ada'],
  ])('knows %s', async (_, text, path) => {
    const { status, location } = await browser.open(`/search?${new URLSearchParams({ q: ` ${text()} ` })}`);
    expect({ status, location }).toEqual({ status: 303, location: path() });
  });
});

test('lists have 50 rows, and the way to older ones and back keeps the filters', async () => {
  const admin = adminClient(fixture.service);
  for (let index = 0; index < 60; index++) {
    await admin.createUser({ email: `many.${String(index).padStart(2, '0')}@example.com` });
  }
  const rowsOf = ({ body }: ConsoleReply) => body.match(/<tr><td>/g)?.length;
  const first = await browser.open('/users?prefix=many');
  const [, older = ''] = /rel="next" href="([^"]+)"/.exec(first.body) ?? [];
  const second = await browser.open(older.replaceAll('&#38;', '&'));
  const [, newer = ''] = /rel="prev" href="([^"]+)"/.exec(second.body) ?? [];
  expect([rowsOf(first), rowsOf(second), newer]).toEqual([50, 10, '/users?prefix=many']);
});

test('a form is kept that comes while Postgres does not answer', async () => {
  const text = '"><script>alert(1)</script>';
  const page = await browser.open('/users/new');
  await fixture.service.database.sql`alter table users rename to users_away`;
  try {
    const reply = await browser.submit(page, '/users/new', { email: 'late@example.com', name: text });
    expect([500, 503]).toContain(reply.status);
    expect(reply.body).toContain('Request ID');
    expect(reply.body).not.toContain('<script>alert');
  } finally {
    await fixture.service.database.sql`alter table users_away rename to users`;
  }
});

test('a form of more than 16 KiB, or of another type, is refused', async () => {
  const long = await browser.post('/users/new', { email: 'a@example.com', name: 'a'.repeat(17_000) });
  expect(long.status).toBe(413);
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
  expect((await browser.post('/users/new', { email: 'a@example.com' }, headers)).status).toBe(415);
});

test('a page of sessions that have all ended says that there may be older ones', async () => {
  const { service } = fixture;
  const { id: applicationId } = await createTenant(service);
  const at = fixture.clock.read();
  await service.database.sql.begin(async (transaction) => {
    await transaction`set local session_replication_role = replica`;
    await transaction`
      insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method,
        authenticated_at, began_at, created_at, expires_at)
      select ${applicationId}, gen_random_uuid(), gen_random_uuid(), '', '', '', '', 'page', ${at}, ${at}, ${at},
        ${at}::timestamptz + interval '1 hour' from generate_series(1, 500)`;
  });
  const page = await browser.open(`/applications/${applicationId}/sessions`);
  expect(page.text).toContain('There may be older ones.');
  expect(page.text).toContain('Older');
});
