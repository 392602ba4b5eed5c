/** Every route of the console, by its table: signed out, in each role, and from another site. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES } from '../../../../src/modules/console/routes.ts';
import { ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { type ConsoleSamples, createConsoleSamples, fillPath } from '../../../support/console-samples.ts';
import { adminClient, createTenant } from '../../../support/service.ts';

const MINUTE_MS = 60_000;
const RANKS = { viewer: 1, support: 2, admin: 3 };

let fixture: ConsoleFixture;
let samples: ConsoleSamples;

beforeAll(async () => {
  fixture = await ConsoleFixture.open();
  samples = await createConsoleSamples(fixture);
});

afterAll(() => fixture.close());

test('keeps idle connections as long as the API does', async () => {
  const { headers } = await new ConsoleBrowser(fixture.url).open('/login');
  expect(headers['keep-alive']).toBe('timeout=74');
});

const PROTECTED = ROUTES.filter(({ role }) => role !== 'anyone').map((route) => ({
  ...route,
  name: `${route.method} ${route.path}`,
}));

function send(
  browser: ConsoleBrowser,
  { method, path }: { method: string; path: string },
  headers?: Record<string, string>,
) {
  const target = fillPath(path, samples.params);
  return method === 'GET' ? browser.open(target, headers) : browser.post(target, {}, headers);
}

/** The design's routes, apart from the table. A new route needs a line here, so that somebody decides who may use it. */
const ROLES = {
  anyone: ['GET /login', 'GET /callback', 'POST /callback', 'POST /sign-out'],
  viewer: [
    'POST /renew',
    ...['/', '/search', '/health', '/audit', '/audit.csv', '/audit.jsonl', '/users', '/users/:u'],
    ...['/attempts', '/users/:u/attempts', '/applications/:a/attempts', '/offers'],
    ...['/users/:u/sessions', '/users/:u/applications', '/groups', '/groups/:g'],
    ...['/applications', '/applications/:a', '/applications/:a/preview'],
    ...['keys', 'users', 'groups', 'invitations', 'sessions', 'webhooks', 'webhooks/:w', 'webhooks/:w/deliveries'].map(
      below,
    ),
    ...['events/:e/figures', 'events/:e/attendees', 'events/:e/refusals'].map(below),
    ...['webhooks/:w/deliveries/:m', 'events', 'events/:e', 'events/:e/check-ins.csv', 'events/:e/check-ins.jsonl'].map(
      below,
    ),
  ],
  support: [
    ...[...both('/users/:u/deactivate'), 'POST /users/:u/reactivate', 'POST /users/:u/end-sessions'],
    'POST /health/test-mail',
    ...[
      'POST clients/end',
      'POST sessions/end',
      'POST webhooks/:w/test',
      'GET webhooks/:w/resend',
      'POST webhooks/:w/resend',
    ].map(below),
    ...['POST events/:e/attendees/block', 'POST events/:e/attendees/unblock'].map(below),
    ...['POST webhooks/:w/deliveries/:m/resend', 'POST events/:e/check-ins', 'POST events/:e/check-ins/undo'].map(
      below,
    ),
  ],
  admin: [
    ...['POST /users', '/users/new', 'POST /users/new', 'POST /users/:u', ...both('/users/import')],
    ...['POST /users/:u/applications', 'POST /users/:u/applications/remove'],
    ...['POST users', 'POST users/remove'].map(below),
    ...['POST /applications', '/applications/new', 'POST /applications/new', 'POST /applications/:a'],
    ...['POST /groups', 'POST /groups/:g', 'POST /groups/:g/members', 'POST /groups/:g/members/remove'],
    ...both('/applications/:a/logo'),
    ...['POST groups', 'POST groups/change'].map(below),
    ...['POST invitations', 'POST invitations/revoke', 'POST webhooks', 'POST webhooks/:w', 'POST events'].map(below),
    ...[...both('events/:e/edit', 'events/:e/attendees/import'), 'POST events/:e/attendees/delete'].map(below),
  ],
  sensitive: [
    ...both(
      '/users/:u/passkeys/:p/remove',
      '/users/:u/accounts/:i/:s/remove',
      '/users/:u/wallet/remove',
      '/users/:u/second-factor/reset',
    ),
    ...both('/users/:u/delete', '/users/:u/erase', '/groups/:g/delete', '/applications/:a/delete'),
    ...['POST keys', ...both('keys/:k/rotate', 'keys/:k/revoke')].map(below),
    ...both('webhooks/:w/rotate', 'webhooks/:w/delete', 'events/:e/delete').map(below),
  ],
  // In any role, and sensitive.
  recover: [...both('/users/:u/recovery'), 'POST /users/:u/recovery/revoke'],
};

function below(route: string): string {
  return route.startsWith('POST ')
    ? `POST /applications/:a/${route.slice(5)}`
    : `/applications/:a/${route.replace('GET ', '')}`;
}

function both(...paths: string[]): string[] {
  return paths.flatMap((path) => [path, `POST ${path}`]);
}

test('the table has every route of the design, each once, for the role of the design', () => {
  const designed = Object.entries(ROLES).flatMap(([role, routes]) =>
    routes.map((route) => `${role} ${route.includes(' ') ? route : `GET ${route}`}`),
  );
  const rightOf = ({ role, isSensitive, needsRecover }: (typeof ROUTES)[number]) =>
    needsRecover ? 'recover' : isSensitive ? 'sensitive' : role;
  const built = ROUTES.map((route) => `${rightOf(route)} ${route.method} ${route.path}`);
  expect(built.sort()).toEqual(designed.sort());
  expect(ROUTES.filter((route) => route.isSensitive && !route.needsRecover && route.role !== 'admin')).toEqual([]);
  expect(ROUTES.filter((route) => route.needsRecover && !route.isSensitive)).toEqual([]);
});

describe('somebody who is not signed in', () => {
  test.each(PROTECTED)('is sent to sign in by $name', async (route) => {
    const { status, location, body } = await send(new ConsoleBrowser(fixture.url), route);
    expect({ status, body }).toEqual({ status: 303, body: '' });
    expect(location).toMatch(/^\/login\?to=%2F/);
  });
});

describe('another site', () => {
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    browser = await fixture.signIn(OPERATORS.admin);
  });

  test.each(ROUTES.filter(({ method }) => method === 'POST'))('cannot send the form of $path', async (route) => {
    const before = await fixture.readAudit();
    const foreign: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: fixture.url },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.test' },
      { origin: 'null' },
      {},
    ];
    for (const headers of foreign) expect((await send(browser, route, headers)).status).toBe(403);
    expect(await fixture.readAudit()).toEqual(before);
  });

  const pages = ROUTES.filter(({ method }) => method === 'GET');
  test.each(pages)('cannot load $path into its own page, but link to it', async (route) => {
    const { sql } = fixture.service.database;
    const before = await sql`select from login_intents`;
    for (const site of ['cross-site', 'same-site']) {
      for (const dest of ['image', 'iframe', 'script', 'empty']) {
        const headers = { 'sec-fetch-site': site, 'sec-fetch-dest': dest };
        const { status, cookies } = await send(browser, route, headers);
        expect({ dest, status, cookies }).toEqual({ dest, status: 403, cookies: [] });
      }
    }
    expect(await sql`select from login_intents`).toHaveLength(before.length);
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' };
    expect((await send(browser, route, link)).status).not.toBe(403);
  });

  test('whose browser sends no Sec-Fetch-Site needs the right Origin', async () => {
    expect((await browser.post('/renew', {}, { origin: fixture.url })).status).toBe(303);
    for (const origin of ['http://localhost:1', 'http://evil.test'])
      expect((await browser.post('/renew', {}, { origin })).status).toBe(403);
  });
});

describe.each(['viewer', 'support', 'admin'] as const)('the role %s', (role) => {
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    browser = await fixture.signIn(OPERATORS[role]);
  });

  test.each(PROTECTED)('with $name', async (route) => {
    const { status, location, heading, text } = await send(browser, route);
    const isHighEnough = RANKS[role] >= RANKS[route.role as keyof typeof RANKS];
    const isAllowed = isHighEnough && (!route.needsRecover || role === 'admin');
    if (!isAllowed) {
      expect({ status, heading }).toEqual({ status: 403, heading: 'Your role does not allow this' });
      expect(text).toContain(
        isHighEnough
          ? 'It needs the word recover in your line of OPERATORS_FILE.'
          : `It needs the role ${route.role}, and you have the role ${role}.`,
      );
      return;
    }
    const missing = route.path === '/search';
    if (route.method === 'GET') expect({ status, heading }).toEqual({ status: missing ? 404 : 200, heading });
    // What is refused for its fields is shown again.
    else expect([303, 422, 200], heading).toContain(status);
    expect(location ?? '').not.toMatch(/^\/login/);
  });
});

describe('an old sign-in', () => {
  let [old, recent]: ConsoleBrowser[] = [];
  beforeAll(async () => {
    old = await fixture.signIn(OPERATORS.admin);
    for (let minutes = 0; minutes < 16; minutes += 8) {
      fixture.clock.advance(8 * MINUTE_MS);
      await old.open('/health');
    }
    recent = await fixture.signIn(OPERATORS.admin);
  });

  const sensitive = PROTECTED.filter(({ isSensitive }) => isSensitive);
  test.each(sensitive)('is not enough for $name, also beside a recent one in another browser', async (route) => {
    if (!old || !recent) throw new Error('Nobody is signed in');
    const { status, location } = await send(old, route);
    expect(status).toBe(303);
    const url = new URL(location ?? '', fixture.url);
    expect(url.pathname).toBe('/login');
    expect(url.searchParams.has('fresh')).toBe(true);
    // Comes back to the page of the form.
    expect((await old.open(url.searchParams.get('to') ?? '')).status).not.toBe(404);
    expect((await send(recent, route)).location ?? '').not.toMatch(/^\/login/);
  });
});

describe('a team', () => {
  test('does in its application what support does, and nothing elsewhere', async () => {
    const operators = await readFile(fixture.operatorsFile, 'utf8');
    await writeFile(fixture.operatorsFile, `${operators}tim@example.com team ${fixture.tenant.id}\n`);
    const other = await createTenant(fixture.service, { name: 'Bakery' });
    const browser = await signInOnceRead('tim@example.com');
    for (const route of PROTECTED) {
      const { status, location, text } = await send(browser, route);
      const isOwn = route.path.includes('/:a') || route.isForTeams;
      if (!isOwn || route.role === 'admin')
        expect({ name: route.name, status }).toEqual({ name: route.name, status: 403 });
      else expect([200, 303, 422], route.name).toContain(status);
      expect(location ?? '').not.toMatch(/^\/login/);
      if (!isOwn && route.role !== 'admin') expect(text, route.name).toContain('pages of its own applications only');
      if (!route.path.includes('/:a')) continue;
      const foreign = fillPath(route.path, { ...samples.params, a: other.id });
      const reply = await (route.method === 'GET' ? browser.open(foreign) : browser.post(foreign));
      expect({ name: route.name, status: reply.status }).toEqual({ name: route.name, status: 403 });
    }
    const { body } = await browser.open('/applications');
    expect(body).toContain('Shop');
    expect(body).not.toContain('Bakery');
  });

  test('sees its other applications after one of them was deleted', async () => {
    const operators = await readFile(fixture.operatorsFile, 'utf8');
    const deleted = await createTenant(fixture.service, { name: 'Closed' });
    const lines = [fixture.tenant.id, deleted.id].map((id) => `tom@example.com team ${id}\n`);
    await writeFile(fixture.operatorsFile, operators + lines.join(''));
    await adminClient(fixture.service).deleteApplication({ applicationId: deleted.id });
    const browser = await signInOnceRead('tom@example.com');
    const { status, body } = await browser.open('/applications');
    expect(status).toBe(200);
    expect(body).toContain('Shop');
    expect(body).not.toContain('Closed');
  });

  /** Signs an operator in once the console has read the new lines of the file. */
  async function signInOnceRead(email: string): Promise<ConsoleBrowser> {
    let browser: ConsoleBrowser | undefined;
    await expect
      .poll(async () => (browser = await fixture.signIn(email).catch(() => undefined)), { timeout: 30_000 })
      .toBeDefined();
    if (!browser) throw new Error('Not signed in');
    return browser;
  }
});

test('the applications of Usher itself have no pages', async () => {
  const browser = await fixture.signIn(OPERATORS.admin);
  for (const a of ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002']) {
    for (const route of PROTECTED.filter(({ path }) => path.startsWith('/applications/:a'))) {
      const target = fillPath(route.path, { ...samples.params, a });
      const { status } = await (route.method === 'GET' ? browser.open(target) : browser.post(target));
      expect({ name: route.name, status }).toEqual({ name: route.name, status: 404 });
    }
  }
});

test.each(['/nothing', '/users/', '/users/x', '/applications/x', '//', '/%', '/users/%ff', '/..%2f'])(
  'answers %s with a page',
  async (path) => {
    const browser = await fixture.signIn(OPERATORS.admin);
    const { status, body, headers } = await browser.open(path);
    expect([400, 404]).toContain(status);
    expect(body).toContain(`Request ID: <code>${headers['x-request-id']}</code>`);
  },
);
