import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { Database } from '../../../src/database/pool/database.ts';
import { DAY_MS } from '../../../src/database/schema/table-facts.ts';
import { DatabaseClock } from '../../../src/domain/core/database-clock.ts';
import { removeExpired, runExpiryJob } from '../../../src/jobs/expiry.ts';
import { stopTimer } from '../../support/clock.ts';
import { cloneDatabase, LAYOUT, type TestDatabase } from '../../support/database.ts';
import { waitForLockWaiters } from '../../support/lock.ts';
import { RecordingDatabase } from '../../support/recording-database.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const MINUTE_MS = 60_000;
const OPTIONS = { now: NOW, webhookLogDays: 14 };
const JOB_OPTIONS = { clock: () => NOW, webhookLogDays: 14 };

const testDatabase = await cloneDatabase();

afterAll(async () => {
  await testDatabase[Symbol.asyncDispose]();
});

describe('removeExpired', () => {
  test.each([
    ['lives', 1, true],
    ['expires at this moment', 0, true],
    ['expired a minute ago', -MINUTE_MS, true],
    ['expired an hour ago', -60 * MINUTE_MS, true],
    ['expired more than an hour ago', -60 * MINUTE_MS - 1, false],
  ])('keeps or removes intents, one of them completed, that %s', async (_, livesForMs, isKept) => {
    await using fixture = await openFixture(testDatabase);
    await fixture.addIntents(2, new Date(NOW.getTime() + livesForMs));
    await fixture.sql`
      update login_intents set completed_at = ${NOW}, user_id = ${fixture.userId}
      where id = (select id from login_intents limit 1)`;
    await removeExpired(fixture.database, OPTIONS);
    expect(await fixture.count('login_intents')).toBe(isKept ? 2 : 0);
  });

  test.each([
    ['of OpenID Connect', "response_mode = 'query'"],
    ['of the account page', "application_id = '00000000-0000-4000-8000-000000000001'"],
  ])('removes an abandoned intent %s once it has expired, and keeps a completed one', async (_, whose) => {
    await using fixture = await openFixture(testDatabase);
    await fixture.sql`truncate expiry_marks`;
    await fixture.sql`
      insert into applications (id, name, client_id, redirect_uris, created_at)
      values ('00000000-0000-4000-8000-000000000001', 'Account', 'usher-account', '{}', ${NOW}) on conflict do nothing`;
    await fixture.addIntents(2, new Date(NOW.getTime() - 1));
    await fixture.addIntents(1, NOW);
    await fixture.sql.unsafe(`update login_intents set ${whose}`);
    await fixture.sql`
      update login_intents set completed_at = ${NOW}, user_id = ${fixture.userId}
      where id = (select id from login_intents where expires_at < ${NOW} limit 1)`;
    await removeExpired(fixture.database, OPTIONS);
    expect(await fixture.count('login_intents')).toBe(2);
    await removeExpired(fixture.database, { ...OPTIONS, now: new Date(NOW.getTime() + 61 * MINUTE_MS) });
    expect(await fixture.count('login_intents')).toBe(0);
  });

  test.each([
    ['lives', 1, true],
    ['expires at this moment', 0, true],
    ['has just expired', -1, false],
    ['expired an hour ago', -60 * MINUTE_MS, false],
  ])('keeps or removes a session that %s', async (_, livesForMs, isKept) => {
    await using fixture = await openFixture(testDatabase);
    await fixture.addSessions(1, new Date(NOW.getTime() + livesForMs));
    await removeExpired(fixture.database, OPTIONS);
    expect(await fixture.count('sessions')).toBe(isKept ? 1 : 0);
    expect(await fixture.count('session_ids')).toBe(isKept ? 1 : 0);
  });

  test.each([
    ['this millisecond', 0, 1],
    ['the one before', -1, 0],
  ])('keeps or removes a session that can be renewed until %s', async (_, keptForMs, left) => {
    await using fixture = await openFixture(testDatabase);
    await fixture.addSessions(1, new Date(NOW.getTime() - 30 * DAY_MS));
    await fixture.sql`update session_ids set kept_until = ${new Date(NOW.getTime() + keptForMs)}`;
    await removeExpired(fixture.database, OPTIONS);
    expect([await fixture.count('sessions'), await fixture.count('session_ids')]).toEqual([left, left]);
  });

  test('keeps sign-ins for fewer days than the rest of the audit log, and reads no event twice for that', async () => {
    await using fixture = await openFixture(testDatabase);
    const { sql } = fixture;
    await sql`truncate audit_events, expiry_marks`;
    const signIns = ['AuthService/ExchangeToken', 'SessionService/RenewSession', 'AdminService/CompleteLogin'];
    const others = ['POST /login/code', 'POST /oidc/token', 'GET /login/callback/<id>', 'GET /account/return'];
    const kept = ['AdminService/CreateUser', 'POST /login/passkey/new', 'EventService/CheckIn', 'POST /account/name'];
    const add = async (actions: readonly string[], at: Date) => {
      for (const action of actions) {
        await sql`
          insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
          values (${fixture.applicationId}, ${at}, ${randomUUID()}, 'usher', '', ${action}, 'r', '', '')`;
      }
    };
    const expired = new Date(NOW.getTime() - 30 * DAY_MS - 1);
    await add([...signIns, ...others, ...kept], expired);
    await add(['AuthService/ExchangeToken'], new Date(expired.getTime() + 1));
    const left = async () =>
      (await sql`select action from audit_events where occurred_at <= ${expired} order by action`).map(
        ({ action }) => action,
      );
    const days = { auditLogDays: 60, signInLogDays: 30 };
    await removeExpired(fixture.database, { ...OPTIONS, ...days });
    expect(await left()).toEqual([...kept].sort());
    expect(await sql`select from audit_events`).toHaveLength(kept.length + 1);

    // The next run begins where this one has ended.
    await add(['AuthService/ExchangeToken'], expired);
    await removeExpired(fixture.database, { ...OPTIONS, ...days, now: new Date(NOW.getTime() + 1) });
    expect(await left()).toEqual(['AuthService/ExchangeToken', ...kept].sort());
    expect(await sql`select from audit_events`).toHaveLength(kept.length + 1);
    // Neither a longer nor a shorter time makes it forget how far it was.
    await removeExpired(fixture.database, { ...OPTIONS, auditLogDays: 60, signInLogDays: 90 });
    const [mark] = await sql`select reached_at from expiry_marks where name = 'sign-ins'`;
    expect(mark?.reached_at).toEqual(new Date(expired.getTime() + 1));
    await removeExpired(fixture.database, { ...OPTIONS, auditLogDays: 30, signInLogDays: 90 });
    expect(await left()).toEqual([]);
  });

  test('keeps the audit log for 400 days', async () => {
    await using fixture = await openFixture(testDatabase);
    const { sql } = fixture;
    await sql`truncate audit_events`;
    for (const days of [0, 399, 401, 1_000]) {
      const at = new Date(NOW.getTime() - days * 24 * 60 * MINUTE_MS);
      await sql`
        insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
        values (${fixture.applicationId}, ${at}, ${randomUUID()}, 'usher', '', 'Test', ${days}, '', '')`;
    }
    await removeExpired(fixture.database, OPTIONS);
    const left = await sql`select resource from audit_events order by occurred_at desc`;
    expect(left.map(({ resource }) => resource)).toEqual(['0', '399']);
  });

  test.each([
    ['lives', 1, true],
    ['has expired', -1, false],
  ])('keeps or removes a cut-off that %s', async (_, livesForMs, isKept) => {
    await using fixture = await openFixture(testDatabase);
    const { sql, applicationId, userId } = fixture;
    const [cutoffAt, expiresAt] = [new Date(NOW.getTime() - 60 * MINUTE_MS), new Date(NOW.getTime() + livesForMs)];
    await sql`delete from session_cutoffs`;
    await sql`delete from user_cutoffs`;
    await sql`delete from browser_cutoffs`;
    await sql`insert into browser_cutoffs values (${userId}, '', ${cutoffAt}, ${expiresAt})`;
    await sql`insert into session_cutoffs values (${applicationId}, ${userId}, ${cutoffAt}, ${expiresAt})`;
    await sql`insert into user_cutoffs values (${userId}, ${cutoffAt}, ${expiresAt})`;
    await removeExpired(fixture.database, OPTIONS);
    expect(await fixture.count('session_cutoffs')).toBe(isKept ? 1 : 0);
    expect(await fixture.count('user_cutoffs')).toBe(isKept ? 1 : 0);
    expect(await fixture.count('browser_cutoffs')).toBe(isKept ? 1 : 0);
  });

  test('keeps a session whose predecessor has expired', async () => {
    await using fixture = await openFixture(testDatabase);
    await fixture.addSessions(1, new Date(NOW.getTime() - 1));
    await fixture.sql`update sessions set id = ${randomUUID()}, expires_at = ${NOW}`;
    await removeExpired(fixture.database, OPTIONS);
    expect([await fixture.count('sessions'), await fixture.count('session_ids')]).toEqual([1, 0]);
  });

  test('begins with a batch of 500, the oldest first, and stops between batches on the signal', async () => {
    await using fixture = await openFixture(testDatabase);
    await fixture.addSessions(700, new Date(NOW.getTime() - 700), 1);
    const stop = new AbortController();
    const stopInFullBatch: Pick<Database, 'run'> = {
      async run(statement, parameters, deadline) {
        const rows = await fixture.database.run(statement, parameters, deadline);
        if (Array.isArray(rows) && rows[0]?.end) stop.abort();
        return rows;
      },
    };
    await removeExpired(stopInFullBatch, { ...OPTIONS, signal: stop.signal });
    const left = await fixture.sql`
      select count(*)::int, min(expires_at) as oldest
      from sessions join session_ids using (application_id, id, expires_at)`;
    expect(left).toEqual([{ count: 200, oldest: new Date(NOW.getTime() - 200) }]);
  });

  test('starts each batch where the last one ended, behind rows that are not vacuumed', async () => {
    await using fixture = await openFixture(testDatabase);
    await using recording = new RecordingDatabase(fixture.url);
    await fixture.addSessions(1_000, new Date(NOW.getTime() - 1_000), 1);
    await removeExpired(recording, OPTIONS);
    const sent = recording.sent.filter(({ sql }) =>
      /delete from "session_ids"|from "session_ids".* offset \d+/.test(sql),
    );
    const instants = sent.map(({ parameters }) => parameters.map((value) => Date.parse(String(value)) - NOW.getTime()));
    const start = -1 - NOW.getTime();
    expect(instants).toEqual([[start], [start, -501], [-501], [-501, -1]]);
  });

  describe('of events that were deleted 30 days ago', () => {
    test('removes the attendees in batches, and keeps the events and the lists of others', async () => {
      await using fixture = await openFixture(testDatabase);
      await using recording = new RecordingDatabase(fixture.url);
      await addLists(fixture, { old: -1, also: -DAY_MS, young: 0, open: undefined });
      await removeExpired(recording, OPTIONS);
      expect(await readLists(fixture)).toEqual({ open: 1_200, young: 1_200 });
      expect(await fixture.count('events')).toBe(4);
      // Marked in parts of 500 rows, and removed in as small ones.
      expect(recording.sent.filter(({ sql }) => /insert into attendees/.test(sql))).toHaveLength(6);
      expect(recording.sent.filter(({ sql }) => /delete from "attendees"/.test(sql)).length).toBeGreaterThan(2);
      // The next run reads none of them again.
      await fixture.sql`update events set deleted_at = ${NOW} where id = 'open'`;
      await removeExpired(recording, { ...OPTIONS, now: new Date(NOW.getTime() + 30 * DAY_MS) });
      expect(await readLists(fixture)).toEqual({ open: 1_200 });
      await removeExpired(recording, { ...OPTIONS, now: new Date(NOW.getTime() + 30 * DAY_MS + 1) });
      expect(await readLists(fixture)).toEqual({});
    });

    test('removes the rest of a list after a run that was stopped within it', async () => {
      await using fixture = await openFixture(testDatabase);
      await addLists(fixture, { old: -1 });
      const stop = new AbortController();
      const stopInList: Pick<Database, 'run'> = {
        async run(statement, parameters, deadline) {
          const rows = await fixture.database.run(statement, parameters, deadline);
          if ('eventId' in parameters) stop.abort();
          return rows;
        },
      };
      await removeExpired(stopInList, { ...OPTIONS, signal: stop.signal });
      expect(await readLists(fixture, 'where removed_at is null')).toEqual({ old: 700 });
      await removeExpired(fixture.database, OPTIONS);
      expect(await readLists(fixture)).toEqual({});
    });

    type Fixture = Awaited<ReturnType<typeof openFixture>>;

    /** Adds an event for each name, with a list, deleted so long before or after the limit. */
    async function addLists({ sql, applicationId }: Fixture, events: Readonly<Record<string, number | undefined>>) {
      await sql`truncate expiry_marks`;
      for (const [id, ms] of Object.entries(events)) {
        const deletedAt = ms === undefined ? null : new Date(NOW.getTime() - 30 * DAY_MS + ms);
        await sql`
          insert into events (application_id, id, created_at, deleted_at, attendee_version)
          values (${applicationId}, ${id}, ${NOW}, ${deletedAt}, 1200)`;
        await sql`
          insert into attendees (application_id, event_id, attendee_id, label, is_blocked, version, changed_at)
          select ${applicationId}, ${id}, 'attendee ' || n, '', false, n, ${NOW} from generate_series(1, 1200) n`;
      }
    }

    async function readLists({ sql }: Fixture, where = ''): Promise<Record<string, number>> {
      const rows = await sql.unsafe(`select event_id, count(*)::int from attendees ${where} group by event_id`);
      return Object.fromEntries(rows.map(({ event_id, count }) => [event_id, count]));
    }
  });

  test('removes from the other tables when one fails, and throws the failure', async () => {
    await using fixture = await openFixture(testDatabase);
    await Promise.all([fixture.addIntents(3, new Date(0)), fixture.addSessions(3, new Date(0))]);
    await fixture.sql`alter table login_codes rename to elsewhere`;
    onTestFinished(async () => {
      await fixture.sql`alter table elsewhere rename to login_codes`;
    });
    await expect(removeExpired(fixture.database, OPTIONS)).rejects.toMatchObject({ code: '42P01' });
    expect([await fixture.count('login_intents'), await fixture.count('session_ids')]).toEqual([0, 0]);
  });

  test('waits for rows that another replica is removing', async () => {
    await using fixture = await openFixture(testDatabase);
    await fixture.addSessions(20, new Date(0));
    let removing: Promise<void> | undefined;
    await fixture.sql.begin(async (replica) => {
      await replica`delete from session_ids where id in (select id from session_ids order by id limit 5)`;
      removing = removeExpired(fixture.database, OPTIONS);
      await waitForLockWaiters(testDatabase);
    });
    await removing;
    expect([await fixture.count('sessions'), await fixture.count('session_ids')]).toEqual([0, 0]);
  });

  test('removes exactly the expired rows on two replicas at once, and no users or applications', async () => {
    await using fixture = await openFixture(testDatabase);
    await using other = openDatabase(fixture.url);
    const longAgo = new Date(NOW.getTime() - 120 * MINUTE_MS);
    await Promise.all([fixture.addIntents(600, longAgo), fixture.addSessions(600, longAgo)]);
    await Promise.all([fixture.addIntents(100, NOW), fixture.addSessions(100, NOW)]);
    const kept = [await fixture.count('users'), await fixture.count('applications')];
    await Promise.all([removeExpired(fixture.database, OPTIONS), removeExpired(other.database, OPTIONS)]);
    expect([await fixture.count('login_intents'), await fixture.count('sessions')]).toEqual([100, 100]);
    expect([await fixture.count('users'), await fixture.count('applications')]).toEqual(kept);
  });
});

describe('the expiry job', () => {
  test('runs at once, and ends soon after the signal', async () => {
    await using fixture = await openFixture(testDatabase);
    await fixture.addSessions(3, new Date(NOW.getTime() - 1));
    const job = new AbortController();
    const ended = runExpiryJob(fixture.database, {
      ...JOB_OPTIONS,
      signal: job.signal,
      onError: (error) => expect.unreachable(String(error)),
    });
    while ((await fixture.count('sessions')) > 0) await sleep(5);
    job.abort();
    await ended;
  });

  test('begins the next pass at once when one has taken longer than the interval', async () => {
    using timer = stopTimer();
    const job = new AbortController();
    const sent: unknown[] = [];
    const slow: Pick<Database, 'run'> = {
      async run(statement) {
        timer.advance(90_000);
        sent.push(statement);
        return Object.assign([], { count: 0 }) as never;
      },
    };
    const ended = runExpiryJob(slow, {
      ...JOB_OPTIONS,
      signal: job.signal,
      onError: (error) => expect.unreachable(String(error)),
    });
    // Each pass begins with the same statement.
    await expect.poll(() => sent.filter((statement) => statement === sent[0]).length).toBeGreaterThan(1);
    job.abort();
    await ended;
  });

  test('removes nothing while the clock of the process is off that of Postgres, and says why', async () => {
    await using fixture = await openFixture(testDatabase);
    await fixture.addSessions(3, new Date(NOW.getTime() - 1));
    const job = new AbortController();
    const { promise: reported, resolve: report } = Promise.withResolvers<unknown>();
    const clock = new DatabaseClock(
      async () => NOW.getTime(),
      () => NOW.getTime() + 401 * DAY_MS,
    );
    await clock.measure(0);
    const ended = runExpiryJob(fixture.database, {
      ...JOB_OPTIONS,
      clock: clock.readForDeletion,
      signal: job.signal,
      onError: report,
    });
    const message =
      'The clock of this machine is 34646400.0 s ahead of that of Postgres. Synchronise both, such as by NTP';
    expect(await reported).toMatchObject({ message });
    job.abort();
    await ended;
    expect(await fixture.count('sessions')).toBe(3);
  });

  test('reports a failure and goes on', async () => {
    await using fixture = await openFixture(testDatabase);
    await fixture.sql`alter table sessions rename to elsewhere`;
    onTestFinished(async () => {
      await fixture.sql`alter table elsewhere rename to sessions`;
    });
    const job = new AbortController();
    const { promise: reported, resolve: report } = Promise.withResolvers<unknown>();
    const ended = runExpiryJob(fixture.database, {
      ...JOB_OPTIONS,
      signal: job.signal,
      onError: report,
    });
    expect(await reported).toMatchObject({ code: '42P01' });
    job.abort();
    await ended;
  });
});

function openDatabase(url: string) {
  const database = new Database(url, { connections: 2, layout: LAYOUT, statementTimeoutMs: 60_000 });
  return { database, [Symbol.asyncDispose]: () => database.close() };
}

/** An empty database but for an application and a user. */
async function openFixture({ url, sql }: TestDatabase) {
  await sql`truncate applications, users, session_ids cascade`;
  const { database } = openDatabase(url);
  const applicationId = randomUUID();
  const userId = randomUUID();
  await sql`
    insert into applications (id, name, client_id, redirect_uris, created_at)
    values (${applicationId}, 'Application', 'client', array['https://app.test'], now())`;
  await addUsers(sql, [userId]);
  return {
    url,
    sql,
    database,
    applicationId,
    userId,
    async count(table: string): Promise<number> {
      const [row] = await sql`select count(*)::int as count from ${sql(table)}`;
      return row?.count;
    },
    async addIntents(count: number, expiresAt: Date) {
      await sql`
        insert into login_intents (application_id, id, redirect_uri, state, created_at, expires_at)
        select ${applicationId}, gen_random_uuid(), 'https://app.test', 'state', now(), ${expiresAt}
        from generate_series(1, ${count})`;
    },
    /** Each expires so many milliseconds later than the one before. */
    async addSessions(count: number, expiresAt: Date, stepMs = 0) {
      const userIds = Array.from({ length: count }, () => randomUUID());
      await addUsers(sql, userIds);
      await sql`
        with begun as (
          insert into sessions (
            application_id, user_id, id, email, wallet_address, ip_address, user_agent, method, authenticated_at, began_at,
            created_at, expires_at
          )
          select ${applicationId}, user_id, gen_random_uuid(), 'a@b', 'wallet', '::1', 'test', 'page', now(), now(), now(),
            ${expiresAt}::timestamptz + (n - 1) * ${stepMs}::int * interval '1 millisecond'
          from unnest(${userIds}::uuid[]) with ordinality as series (user_id, n)
          returning *
        )
        insert into session_ids
        select application_id, id, user_id, authenticated_at, created_at, expires_at, expires_at from begun`;
    },
    [Symbol.asyncDispose]: () => database.close(),
  };
}

async function addUsers(sql: TestDatabase['sql'], ids: readonly string[]): Promise<void> {
  await sql`
    insert into users (id, email, wallet_address, created_at)
    select id, id || '@example.com', id, now() from unnest(${ids as string[]}::uuid[]) as id`;
}
