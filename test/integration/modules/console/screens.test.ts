/** What single screens show beside the rows of their lists. */
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { OPERATORS } from '../../../support/console-fixture.ts';
import { fillPath, openSampledConsole } from '../../../support/console-samples.ts';
import { textOf } from '../../../support/login-browser.ts';
import { adminClient, clientsOf, createTestUser } from '../../../support/service.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.viewer);

afterAll(() => fixture.close());

const open = (path: string) => browser.open(fillPath(path, samples.params));
const linesOf = (body: string) => body.trimEnd().split(/\r?\n/);

describe('the audit log', () => {
  test('is a download with the filters of the page, in CSV and in JSON lines', async () => {
    const { a } = samples.params;
    const page = await open(`/audit?application=${a}&action=EventService/CreateEvent&actor=&page=`);
    const links = [...page.body.matchAll(/href="(\/audit\.[^"]*)"/g)].map(([, href = '']) =>
      href.replace(/&(amp|#38);/g, '&'),
    );
    expect(links).toHaveLength(2);
    const [csv, jsonl] = await Promise.all(links.map((href) => browser.open(href)));
    expect(csv?.headers).toMatchObject({ 'content-type': 'text/csv; charset=utf-8', 'cache-control': 'no-store' });
    expect(linesOf(csv?.body ?? '')).toHaveLength(2);
    const [event, ...others] = linesOf(jsonl?.body ?? '').map((line) => JSON.parse(line));
    expect(event).toMatchObject({ action: 'EventService/CreateEvent', resource: samples.params.e, applicationId: a });
    expect(others).toEqual([]);
  });

  test('leads operators to what they did themselves', async () => {
    const { sql } = fixture.service.database;
    const [operator] = await sql`select id from users where email = ${OPERATORS.viewer}`;
    expect((await open('/audit')).body).toContain(`<a href="/audit?actor=${operator?.id}">What you did</a>`);
  });

  test('is no download with a filter that is wrong', async () => {
    const { status, headers } = await open('/audit.csv?since=yesterday');
    expect(status).toBe(400);
    expect(headers['content-disposition']).toBeUndefined();
  });

  test('has no event of its download', async () => {
    const before = await fixture.readAudit();
    await open('/audit.csv');
    expect(await fixture.readAudit()).toEqual(before);
  });
});

test('an event has the number of check-ins, and all of them as CSV that runs no formula', async () => {
  const { events } = clientsOf(fixture.service, fixture.tenant);
  const eventId = 'counted';
  await events.createEvent({ eventId });
  await fixture.service.database.sql`
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
    select ${samples.params.a}, ${eventId}, '=attendee ' || n, now() + n * interval '1 ms' from generate_series(1, 120) n`;
  const path = `/applications/${samples.params.a}/events/${eventId}`;
  expect((await open(path)).text).toContain('Have come120');
  const { body } = await open(`${path}/check-ins.csv`);
  expect(linesOf(body)).toHaveLength(121);
  expect(body).toContain(`"'=attendee 1"`);
  // Excel reads UTF-8 only after a byte order mark.
  expect(body.startsWith('\uFEFF"attendeeId"')).toBe(true);
  expect(linesOf((await open(`${path}/check-ins.jsonl`)).body)).toHaveLength(120);
  await fixture.service.database.sql`
    insert into check_ins (application_id, event_id, attendee_id, checked_in_at)
    select ${samples.params.a}, ${eventId}, n::text, now() from generate_series(1, 5001) n`;
  expect((await open(path)).text).toContain('Have come5,000 or more');
});

test('a webhook shows since when it fails, and the overview which ones fail and which Usher has disabled', async () => {
  const { a, w } = samples.params;
  const { sql } = fixture.service.database;
  const [{ owner } = {}] = await sql`select owner_id as owner from webhooks where id = ${w}`;
  await sql`
    insert into webhook_queues (application_id, webhook_id, failing_since) values (${a}, ${w}, '2026-03-01T10:11:12Z')
    on conflict (application_id, webhook_id) do update set failing_since = excluded.failing_since`;
  expect((await open('/applications/:a/webhooks/:w')).text).toContain('Failing since1 Mar 2026, 10:11:12');
  const before = await open('/');
  expect(before.text).not.toContain('Webhooks that');
  const none = { Waiting: expect.any(String), Failing: 'none', 'Disabled by Usher': 'none' };
  expect((await open('/health')).facts).toMatchObject(none);
  await sql`update webhook_queues set next_at = now() + interval '1 hour', failed_batches = 2 where webhook_id = ${w}`;
  const failing = await open('/');
  expect(failing.text).toContain('Webhooks that fail');
  expect((await open('/health')).facts).toMatchObject({ ...none, Failing: 'some, see the overview' });
  expect(failing.text).toContain('1 Mar 2026, 10:11:12');
  expect(failing.body).toContain(`href="/applications/${a}/webhooks/${w}"`);
  await sql`update webhooks set owner_id = null where id = ${w}`;
  const logout = await open('/');
  expect(logout.body).toContain(`href="/applications/${a}"`);
  expect(logout.body).not.toContain(`/webhooks/${w}"`);
  await sql`update webhooks set owner_id = ${owner} where id = ${w}`;
  await sql`update webhooks set is_active = false, disabled_reason = 'GONE' where id = ${w}`;
  const { text, body } = await open('/');
  expect(text).not.toContain('Webhooks that fail');
  expect(text).toContain('Webhooks that Usher has disabled');
  expect(text).toContain('Disabled: gone');
  expect(body).toContain(`href="/applications/${a}/webhooks/${w}"`);
  await sql`update webhooks set is_active = true, disabled_reason = null where id = ${w}`;
});

test('the overview has the ten webhooks that have failed longest, and says that there are more', async () => {
  const { sql } = fixture.service.database;
  const { a, u } = samples.params;
  const insert = async (name: string, since: string, nextAt: string) => {
    const url = `https://failing.test/${name}`;
    await sql`
      with created as (
        insert into webhooks (application_id, id, url, signing_key, owner_id, created_at, updated_at)
        values (${a}, 'wh_' || md5(${url}), ${url}, '', ${u}, now(), now()) returning id)
      insert into webhook_queues (application_id, webhook_id, next_at, failed_batches, failing_since)
      select ${a}, id, ${nextAt}, 1, ${since === '' ? null : since} from created`;
  };
  await sql`update webhook_queues set next_at = null`;
  // The one that is tried last has failed longest.
  for (let day = 10; day < 20; day++)
    await insert(`day-${day}`, `2026-01-${day}T00:00:00Z`, `2099-01-${40 - day}T00:00:00Z`);
  expect((await open('/')).text).not.toContain('There are more');
  await insert('unknown', '', '2026-01-01T00:00:00Z');
  const { text, body } = await open('/');
  const shown = [...body.matchAll(/failing\.test\/([-\w]+)/g)].map(([, name]) => name);
  expect(shown).toEqual(Array.from({ length: 10 }, (_, index) => `day-${10 + index}`));
  expect(text).toContain('The 10 that have been failing longest. There are more.');
  await sql`delete from webhook_queues where webhook_id in (select id from webhooks where url like 'https://failing.test/%')`;
  await sql`delete from webhooks where url like 'https://failing.test/%'`;
});

test('the overview has the ten webhooks that were disabled last, and says that there are more', async () => {
  const { sql } = fixture.service.database;
  const { a, u } = samples.params;
  const disable = (count: number) => sql`
    insert into webhooks (application_id, id, url, signing_key, owner_id, is_active, disabled_reason, created_at, updated_at)
    select ${a}, 'wh_' || md5('off ' || n), 'https://off.test/' || n, '', ${u}, false, 'GONE', now(), now()
    from generate_series(1, ${count}::int) n on conflict do nothing`;
  const shown = async () => {
    const { rows, text } = await open('/');
    return [
      rows.filter(([url]) => url?.startsWith('https://off.test/')).length,
      text.includes('were disabled last. There are more.'),
    ];
  };
  await disable(10);
  expect(await shown()).toEqual([10, false]);
  expect((await open('/health')).facts['Disabled by Usher']).toBe('some, see the overview');
  await disable(11);
  expect(await shown()).toEqual([10, true]);
  await sql`delete from webhooks where url like 'https://off.test/%'`;
});

test('a user of many applications has a short page, which leads to all applications and sessions', async () => {
  const { sql } = fixture.service.database;
  const user = await createTestUser(fixture.service);
  await sql`
    with created as (
      insert into applications (id, name, client_id, redirect_uris, created_at)
      select gen_random_uuid(), 'Many ' || n, 'client_many_' || n, '{https://a.test}', now() from generate_series(1, 40) n returning id
    ), signed_in as (
      insert into application_users (application_id, user_id, first_signed_in_at) select id, ${user.id}, now() from created)
    insert into sessions (application_id, user_id, id, email, wallet_address, ip_address, user_agent, method, began_at,
      authenticated_at, created_at, expires_at)
    select id, ${user.id}, gen_random_uuid(), '', '', '', '', 'email', now(), now(), now(), ${fixture.clock.read()}::timestamptz + interval '1 hour' from created`;
  const page = await browser.open(`/users/${user.id}`);
  for (const list of ['sessions', 'applications']) {
    const path = `/users/${user.id}/${list}`;
    expect(page.body).toContain(`href="${path}"`);
    const first = await browser.open(path);
    const [, next] = /rel="next" href="([^"]*)"/.exec(first.body) ?? [];
    const names = `${first.body}${next && (await browser.open(textOf(next))).body}`.match(/Many \d+/g);
    expect(new Set(names).size).toBe(40);
  }
  await sql`update applications set deleted_at = now() where name like 'Many %'`;
  expect((await browser.open(`/users/${user.id}`)).body).not.toContain(`/${user.id}/sessions"`);
});

test("the overview has the last events of every operator and key, but no logins and none of the reader's sign-ins", async () => {
  const { sql } = fixture.service.database;
  const [reader] = await sql`select id from users where email = ${OPERATORS.viewer}`;
  const insert = (actorType: string, actor: string, action: string, resource: string) => sql`
    insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    values (${samples.params.a}, ${fixture.clock.read()}, gen_random_uuid(), ${actorType}, ${actor}, ${action}, ${resource}, '', '')`;
  const other = randomUUID();
  await insert('console', other, 'AdminService/UpdateUser', 'by another operator');
  await insert('admin_key', 'deploy', 'AdminService/CreateUser', 'by a key');
  await insert('admin_key', 'login page', 'AdminService/CompleteLogin', 'a sign-in');
  await insert('api_key', 'key', 'EventService/CreateEvent', 'by an application');
  await insert('console', reader?.id, 'AdminService/UpdateUser', 'by the reader');
  await insert('console', reader?.id, 'AuthService/ExchangeToken', 'the own sign-in');
  await insert('console', other, 'AuthService/ExchangeToken', 'another sign-in');
  const { text } = await open('/');
  expect(text).toContain('by the reader');
  expect(text).not.toContain('the own sign-in');
  expect(text).toContain('another sign-in');
  expect(text).toContain('by another operator');
  expect(text).toContain('by a key');
  expect(text).not.toContain('a sign-in');
  expect(text).not.toContain('by an application');
});

test('the overview has all users and live sessions, as estimates where there are many', async () => {
  const { sql } = fixture.service.database;
  const [{ users, sessions } = {}] = await sql`
    select (select count(*) from users where deleted_at is null)::int as users,
      (select count(*) from sessions where expires_at > ${fixture.clock.read()})::int as sessions`;
  const { text } = await open('/');
  expect(text).toContain(`Users${users} Live sessions${sessions} Messages waiting`);
  const estimate = (rows: number) => sql`
    update pg_class set reltuples = ${rows} where oid in ('users_list_idx'::regclass, 'sessions_list_idx'::regclass)`;
  await estimate(1_234_567);
  expect((await open('/')).text).toContain('Usersabout 1,200,000 Live sessionsabout 1,200,000 ');
  await estimate(-1);
  expect((await open('/')).text).toContain(`Users${users} Live sessions${sessions} `);
});

test('the overview has the sign-ins that failed beside the others, in the same scale', async () => {
  const { sql } = fixture.service.database;
  await sql`delete from hourly_counts`;
  const insert = (name: string, count: number) => sql`
    insert into hourly_counts (name, hour, count)
    values (${name}, date_trunc('hour', ${fixture.clock.read()}::timestamptz), ${count})`;
  await insert('sign_ins', 8);
  // What does not happen is no trouble.
  expect((await open('/')).body).not.toContain('class="bars bad"');
  await insert('wrong_codes', 1);
  await insert('refused_sign_ins', 3);
  const { body, text, rows } = await open('/');
  const troubled = [...body.matchAll(/<h3 id="([^"]*)">(?:(?!<h3).)*?class="bars bad"/gs)].map(([, id]) => id);
  expect(troubled).toEqual(['wrong_codes-refused_sign_ins']);
  const hours = rows.filter(([hour]) => /^\d\d:00$/.test(hour ?? ''));
  expect(hours).toHaveLength(24);
  expect(hours.at(-1)?.slice(1)).toEqual(['8', '4', '0', '0', '0', '0']);
  expect(text).toMatch(/Sign-ins 8 .*Failed sign-ins 4 /);
  const heightOf = (id: string) =>
    Number(new RegExp(`id="${id}".*?height="([^"]*)"[^>]* class="now"`, 's').exec(body)?.[1]);
  expect(heightOf('wrong_codes-refused_sign_ins')).toBe(heightOf('sign_ins') / 2);
});

describe('the help desk finds in three steps', () => {
  test('why somebody could not sign in: find the address, open the person, read', async () => {
    const { u, a } = samples.params;
    const found = await browser.open(`/search?${new URLSearchParams({ q: samples.email })}`);
    expect(found.location).toBe(`/users/${u}`);
    const { body, text } = await browser.open(found.location ?? '');
    expect(text).toContain('Last attempts Sign-ins that failed or were refused. Kept for 90 days.');
    expect(text).toContain('Sign-in not sure enoughThe application demands more than one factor.');
    expect(body).toContain(`<a href="/applications/${a}">`);
    const { signInAttempts } = await adminClient(fixture.service).listSignInAttempts({ userId: u });
    expect(text).toContain(signInAttempts[0]?.requestId);
  });

  test('who was refused at an application: applications, the application, its users', async () => {
    expect((await open('/applications')).body).toContain(`href="/applications/${samples.params.a}"`);
    expect((await open('/applications/:a')).body).toContain(`href="/applications/${samples.params.a}/users"`);
    const { text } = await open('/applications/:a/users');
    expect(text).toMatch(/Last attempts .*Ada LovelaceSign-in not sure enough/);
  });

  test('the failed sign-ins of the overview', async () => {
    const { body } = await open('/');
    expect(body).toContain('<a href="/attempts">Failed sign-ins</a>');
    expect((await open('/attempts')).text).toMatch(/Ada LovelaceShopSign-in not sure enough/);
  });
});

test('health is one line, a badge per part, and what is not well in words', async () => {
  const well = await open('/health');
  expect(well.text).toMatch(
    /^.*Health All is well\. E-mail ?Well .*Process ?Well .*Postgres ?Well .*Webhooks ?Well .*certificates ?Well .*Counters Event loop/,
  );
  const { sql } = fixture.service.database;
  const [last] = await sql`delete from usher_migrations where id = (select max(id) from usher_migrations) returning *`;
  const { text } = await open('/health');
  await sql`insert into usher_migrations (id, hash, created_at) values (${last?.id}, ${last?.hash}, ${last?.created_at})`;
  expect(well.text).toMatch(/Migrationsall \d+ applied/);
  expect(text).toMatch(
    /Migrations: 1 of \d+ pending\. E-mail ?Well .*Process ?Well .*Postgres ?Not well .*Migrations1 of \d+ pending/,
  );
  expect(text).not.toContain('All is well');
});

test('the audit log is filtered by days as pages show them, and keeps what was typed', async () => {
  const { body, text } = await open('/audit?since=1+Jan+2001&until=2+Jan+2001');
  expect(text).toContain('No events match.');
  expect(body).toContain('value="1 Jan 2001"');
});
