/** The console on Citus, and audit events on their way to the log. Needs CITUS_URL. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { removeExpired } from '../../../src/jobs/expiry.ts';
import { HourlyCounts } from '../../../src/jobs/memory-counts.ts';
import { ROUTES } from '../../../src/modules/console/routes.ts';
import { type ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../support/console-fixture.ts';
import { type ConsoleSamples, createConsoleSamples, fillPath } from '../../support/console-samples.ts';
import { cloneDatabase } from '../../support/database.ts';
import { lacks } from '../../support/tools.ts';

describe.skipIf(lacks('CITUS'))('on Citus', () => {
  const stack = new AsyncDisposableStack();
  let fixture: ConsoleFixture;
  let samples: ConsoleSamples;
  let browser: ConsoleBrowser;
  let database: Database;

  beforeAll(async () => {
    const cloned = stack.use(await cloneDatabase());
    fixture = stack.use(await ConsoleFixture.open({ database: cloned }));
    samples = await createConsoleSamples(fixture);
    browser = await fixture.signIn(OPERATORS.admin);
    database = new Database(cloned.url, { connections: 1, statementTimeoutMs: 60_000 });
    stack.defer(() => database.close());
  }, 120_000);
  afterAll(() => stack.disposeAsync());

  test('the counts of processes add up, and expired sign-ins leave', async () => {
    const now = fixture.clock.read();
    for (let process = 0; process < 2; process++) {
      const counts = new HourlyCounts();
      counts.add('sign_ins', now, 3);
      await counts.save(database.within(performance.now() + 60_000));
    }
    const { sql } = fixture.service.database;
    expect((await browser.open('/')).text).toMatch(/Sign-ins\s*6/);
    // The job of the service has come past them.
    await sql`delete from expiry_marks`;
    await sql`
      insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
      values (${samples.params.a}, now() - interval '100 days', gen_random_uuid(), 'api_key', 'k', 'AuthService/ExchangeToken', 'old', '', '')`;
    for (let run = 0; run < 2; run++) await removeExpired(database, { now: new Date(), webhookLogDays: 3 });
    expect(await sql`select from audit_events where resource = 'old'`).toHaveLength(0);
    const marks = await sql`select name from expiry_marks order by name`;
    expect(marks.map(({ name }) => name)).toEqual(['abandoned-logins', 'deleted-lists', 'sign-ins']);
  });

  test.each(ROUTES.filter(({ method, role }) => method === 'GET' && role !== 'anyone'))(
    'shows $path whole',
    async ({ path }) => {
      const { status, text } = await browser.open(fillPath(path, samples.params));
      expect(status).toBe(path === '/search' ? 404 : 200);
      expect(text).not.toContain('cannot be read');
    },
  );

  test.each([
    ['/users', { prefix: 'a' }],
    ['/users', { email: OPERATORS.admin }],
    ['/users', { wallet: '0xab' }],
    ['/audit', { actor: 'admin' }],
    ['/audit', { action: 'AdminService/CreateUser' }],
    ['/audit', { actor: 'admin', action: 'AdminService/CreateUser' }],
    ['/audit', { resource: 'x', actor: 'admin', action: 'AdminService/CreateUser' }],
    ['/audit', { since: '2026-01-01T00:00', until: '2036-01-01T00:00' }],
  ])('filters %s by %j', async (path, filters) => {
    const { status } = await browser.open(`${path}?${new URLSearchParams(filters as Record<string, string>)}`);
    expect(status).toBe(200);
    const inOne = new URLSearchParams({ ...filters, application: samples.params.a } as Record<string, string>);
    expect((await browser.open(`${path}?${inOne}`)).status).toBe(200);
  });
});
