/** Usher on Citus. Needs CITUS_URL, the database of a coordinator with workers on this machine, which tests restart. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { MessageService } from '../../../gen/usher/v1/message_pb.ts';
import { SessionService } from '../../../gen/usher/v1/session_pb.ts';
import { distributeTables } from '../../../src/database/migrate/distribute.ts';
import { JOURNAL } from '../../../src/database/migrate/journal.ts';
import { toMessageId } from '../../../src/domain/webhooks/delivery.ts';
import { encodeBase32 } from '../../../src/encoding/base32.ts';
import { raceForPlaces } from '../../support/check-in-races.ts';
import { countPrepared, restartWorker } from '../../support/citus.ts';
import { cloneDatabase } from '../../support/database.ts';
import { dumpDatabase, tablesWith } from '../../support/dump.ts';
import { failuresOf } from '../../support/failover-load.ts';
import { FakeProvider } from '../../support/fake-provider.ts';
import { request } from '../../support/http.ts';
import { png } from '../../support/images.ts';
import { endOf, startLoad } from '../../support/load.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { createSubjects, MixedCalls, undocumented } from '../../support/mixed-calls.ts';
import { OPERATIONS } from '../../support/operations.ts';
import { call, mainProtocolOf, protocolNamed, REST } from '../../support/protocols.ts';
import { raceCheckInsWithDeletes, raceExchanges, raceRevocations } from '../../support/races.ts';
import { RecordedLog } from '../../support/recorded-log.ts';
import { restrict, STANDINGS } from '../../support/restricted-access.ts';
import { credentialFor, sampleFields } from '../../support/samples.ts';
import { STEP, TestApp } from '../../support/second-factor.ts';
import {
  ADMIN_KEY,
  adminClient,
  clientsOf,
  createTenant,
  createTestEvent,
  createTestUser,
  logIn,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../../support/service.ts';
import { report } from '../../support/soak.ts';
import { countShards, type ExplainedStatement, StatementExplainer } from '../../support/statement-explainer.ts';
import { lacks } from '../../support/tools.ts';

const RACES = 300;
const REVOCATIONS = 150;
const IMPORTED = 3_000;
const PLACES = 40;
const MESSAGES = 100;
/** By turns of each worker, and by turns as an operator does it and as a crash does. */
const RESTARTS = ['fast', 'immediate', 'immediate', 'fast'] as const;
/** Enough that both workers have some. */
const TENANTS = 6;
/** It analyzes no statement that inserts, and has no generic plan for some that are planned anew each time. */
const FOR_CITUS = { options: 'format json', modes: ['force_custom_plan'] } as const;

describe.skipIf(lacks('CITUS'))('on Citus', () => {
  const stack = new AsyncDisposableStack();
  const log = new RecordedLog('error');
  let acme: FakeProvider;
  let fixture: LoginFixture;
  let service: TestService;
  let tenant: Tenant;

  beforeAll(async () => {
    const database = stack.use(await cloneDatabase());
    acme = stack.use(await FakeProvider.start());
    const config = { loginProviders: [acme.settings()], loginProviderIds: undefined };
    fixture = stack.use(await LoginFixture.open({ database, logger: log.logger, config }));
    ({ service, tenant } = fixture);
  }, 120_000);
  afterAll(() => stack.disposeAsync());

  test('every table is a reference table or distributed, and doing it again does nothing', async () => {
    expect(await distributeTables(service.database.url)).toEqual([]);
    const others = await service.database.sql`
      select oid::regclass::text as name from pg_class
      where relkind in ('r', 'p') and not relispartition
        and relname <> ${JOURNAL} and relnamespace = (select relnamespace from pg_class where oid = 'applications'::regclass)
        and not exists (select from pg_dist_partition
          where logicalrelid = pg_class.oid and (partmethod = 'h' or repmodel = 't'))`;
    expect(others).toEqual([]);
    // Each server would number rows by itself.
    const numbered = await service.database.sql`
      select logicalrelid::text as table from pg_dist_partition
      join pg_attribute on attrelid = logicalrelid and attidentity <> ''`;
    expect(numbered).toEqual([]);
  });

  test('no call of an application and no step of a login touches more than one shard', async (context) => {
    const explained: ExplainedStatement[] = [];
    for (const operation of OPERATIONS.filter(({ credential }) => credential === 'apiKey')) {
      const { method } = operation;
      const fields = await sampleFields(method, { service, tenant });
      const headers = credentialFor(operation, tenant);
      using explainer = new StatementExplainer(service.database, FOR_CITUS);
      const { code } = await call(mainProtocolOf(method), service.url, method, fields, headers);
      explained.push(...explainer.explained);
      expect(code, method.name).toBe('ok');
    }
    const user = await createTestUser(service);
    const secret = Buffer.from('12345678901234567890');
    const [email, totpSecret] = ['second-step@example.com', encodeBase32(secret)];
    await adminClient(service).batchCreateUsers({ users: [{ email, totpSecret }] });
    using explainer = new StatementExplainer(service.database, FOR_CITUS);
    const { code, enter } = await fixture.askForCode({ user });
    expect((await enter(code)).status).toBe(303);
    // A new identity, which a code links, and then the same one.
    for (const isNew of [true, false]) {
      const { browser, page } = await fixture.arrive();
      const { location } = await browser.submit(page, '/login/provider');
      let done = await browser.open(acme.signIn(location, { sub: 'ada', email: user.email }));
      if (isNew) {
        const codePage = await browser.submit(done, '/login/link');
        done = await browser.submit(codePage, '/login/code', { code: fixture.mailbox.codeFor(user.email) });
      }
      expect(done.status).toBe(303);
    }
    const held = await fixture.askForCode({ user: { email } as TestUser });
    const step = await held.enter(held.code);
    const codes = await held.browser.submit(step, STEP, { code: new TestApp(secret).codeAt(new Date()) });
    expect((await held.browser.submit(codes, `${STEP}/done`)).status).toBe(303);
    explained.push(...explainer.explained);
    const statements = explained.map(({ name, plans }) => ({ name, shards: countShards(plans) }));
    const wide = statements.filter(({ name, shards }) => shards > (SHARDS[name] ?? 1));
    const single = statements.filter(({ shards }) => shards === 1);
    report(context, {
      tried: `${statements.length} statements explained`,
      figures: `${single.length} touch one shard, ${wide.length} more than they may`,
    });
    expect(wide).toEqual([]);
    // The others read what every server has. Jobs may run meanwhile, more often than once.
    const ofCalls = statements.filter(({ name }) => !(name in SHARDS));
    expect(single.length).toBeGreaterThan(ofCalls.length * 0.8);
  });

  test('an application gets logos, loses one, and takes the other along when it is deleted', async () => {
    const admin = adminClient(service);
    const { id: applicationId } = await createTenant(service);
    const set = (theme: string, image: Uint8Array) => admin.setApplicationLogo({ applicationId, theme, image });
    for (const theme of ['light', 'dark', 'light']) await set(theme, png(9, 9));
    const { application } = await set('dark', Buffer.alloc(0));
    expect([application?.logoUri, application?.darkLogoUri]).toEqual([expect.stringContaining('/light/'), undefined]);
    const { pathname } = new URL(application?.logoUri ?? '');
    expect(await request(service.url, { path: pathname })).toMatchObject({ status: 200 });
    await admin.deleteApplication({ applicationId });
    expect(await request(service.url, { path: pathname })).toMatchObject({ status: 404 });
  });

  test('an erased user leaves nothing of a login with a former address', async () => {
    const admin = adminClient(service);
    const signUpTenant = await createTenant(service);
    await admin.updateApplication({ applicationId: signUpTenant.id, allowSignUp: true });
    const mark = crypto.randomUUID();
    const email = `${mark}@example.com`;
    const asked = await fixture.askForCode({ of: signUpTenant, user: { email } as TestUser });
    expect((await asked.enter(asked.code)).status).toBe(303);
    const [{ id: userId } = { id: '' }] = (await admin.listUsers({ email })).users;
    await admin.updateUser({ userId, email: `other-${mark}@example.com` });
    const find = async () => tablesWith(await dumpDatabase(service.database), [mark]);
    expect(await find()).toEqual(expect.arrayContaining(['login_codes', 'users']));
    await admin.eraseUser({ userId });
    expect(await find()).toEqual([]);
  });

  test('thousands of users are imported, and exported as they were', { timeout: 900_000 }, async (context) => {
    await adminClient(service).createGroup({ name: 'editors' });
    const users = Array.from({ length: IMPORTED }, (_, at) => ({
      id: randomUUID(),
      externalId: `auth0|${at}`,
      email: `imported-${at}@example.com`,
      emailVerified: at % 2 === 0,
      createdAt: new Date(Date.UTC(2021, 0, 1) + at * 1_000).toISOString(),
      isActive: at % 3 > 0,
      walletAddress: '',
      attributes: { plan: 'pro', seats: at },
      groups: at % 4 === 0 ? ['editors'] : [],
      applications: at % 5 > 0 ? [tenant.id] : [],
      identities: [{ provider: acme.settings().id, subject: `subject-${at}` }],
      passkeys: [] as object[],
    }));
    const url = `${service.url}/admin/users.jsonl`;
    const headers = { 'x-admin-key': ADMIN_KEY };
    const body = users.map((user) => JSON.stringify(user)).join('\n');
    const answers = parseLines(await (await fetch(url, { method: 'POST', headers, body })).text());
    expect(answers.filter(({ status }) => status !== 'created')).toEqual([]);
    const ids = new Set<string>(users.map(({ id }) => id));
    const exported = parseLines(await (await fetch(url, { headers })).text()).filter(({ id }) => ids.has(String(id)));
    expect(exported).toEqual(users.toSorted((one, other) => (one.id < other.id ? -1 : 1)));
    report(context, { tried: `${IMPORTED} users imported and exported`, lost: '0 differences' });
  });

  test('a restricted application lets in whom it should at every door, until the access ends', async () => {
    const closed = await createTenant(service);
    const access = await restrict(service, closed.id);
    const { exchangeToken } = AuthService.method;
    const { checkSession } = SessionService.method;
    const headers = { 'x-api-key': closed.apiKey };
    for (const door of ['REST over HTTP/1.1', 'Connect JSON over HTTP/1.1', 'gRPC over HTTP/2'].map(protocolNamed)) {
      for (const standing of STANDINGS) {
        const user = await access.createUser(standing);
        const isLetIn = standing !== 'neither';
        // Without the access nobody gets a token, so it ends between the token and the exchange.
        if (!isLetIn) await access.give(user.id, 'added');
        const authToken = await logIn(service, closed, user);
        if (!isLetIn) await access.take(user.id, 'added');
        const { code, data } = await call(door, service.url, exchangeToken, { authToken }, headers);
        expect(code === 'ok', `${standing}, ${door.name}: ${code}`).toBe(isLetIn);
        if (!isLetIn) continue;
        const { id: sessionId } = (data as { session: { id: string } }).session;
        const isActive = async () => {
          const { data: checked } = await call(door, service.url, checkSession, { sessionId }, headers);
          return (checked as { active: boolean }).active;
        };
        expect(await isActive()).toBe(true);
        await access.take(user.id, standing);
        expect(await isActive(), `${standing}, ${door.name}`).toBe(false);
      }
    }
  });

  test('scans in batches on two replicas fill an event exactly', { timeout: 900_000 }, async (context) => {
    await raceForPlaces({ capacity: PLACES, scans: 4 * PLACES });
    report(context, { tried: `${4 * PLACES} scans, each at both replicas, of ${PLACES} places`, lost: '0 too many' });
  });

  test('a reader of the feed gets every message once, in the order of the table', async (context) => {
    await using feeding = await startTestService({ config: { webhookDelivery: true } });
    const owners = await Promise.all([1, 2].map(() => createTenant(feeding, { messageFeed: true })));
    await Promise.all(
      owners.flatMap((owner) => Array.from({ length: MESSAGES }, () => createTestEvent(feeding, owner))),
    );
    const { sql } = feeding.database;
    for (const { id, apiKey } of owners) {
      const placed = () => sql`
        select m.id, f.position from feed_positions f
        join webhook_messages m on m.application_id = f.application_id and m.id = f.message_id
        where f.application_id = ${id} order by f.position`;
      await expect.poll(async () => (await placed()).length).toBe(MESSAGES);
      const read: string[] = [];
      for (let cursor = 'oldest', isLast = false; !isLast; ) {
        const headers = { 'x-api-key': apiKey };
        const { listMessages } = MessageService.method;
        const { data } = await call(REST, feeding.url, listMessages, { cursor, pageSize: 30 }, headers);
        const page = data as unknown as { messages: { messageId: string }[]; cursor: string };
        read.push(...page.messages.map(({ messageId }) => messageId));
        isLast = page.messages.length === 0;
        cursor = page.cursor;
      }
      const rows = await placed();
      expect(read).toEqual(rows.map((row) => toMessageId(row.id)));
      expect(rows.map(({ position }) => Number(position))).toEqual(rows.map((_, at) => at + 1));
    }
    report(context, {
      tried: `${MESSAGES} messages of each of two applications`,
      lost: '0 lost, doubled or out of order',
    });
  });

  test('racing exchanges give one session', { timeout: 900_000 }, async (context) => {
    await raceExchanges(RACES);
    report(context, { tried: `${RACES} x 16 exchanges at once`, lost: '0 rounds with two sessions' });
  });

  test('nothing that races a revocation outlives it, or begins by it', { timeout: 900_000 }, async (context) => {
    await raceRevocations(REVOCATIONS);
    report(context, {
      tried: `${REVOCATIONS} revocations against 16 callers`,
      lost: '0 sessions that live on or begin',
    });
  });

  test('nobody is admitted after a delete that races check-ins', { timeout: 900_000 }, async (context) => {
    await raceCheckInsWithDeletes(RACES);
    report(context, { tried: `${RACES} deletes against 16 check-ins`, lost: '0 admitted after the delete' });
  });

  test('the restart of workers costs 503s and nothing else', async (context) => {
    const subjects = await Promise.all(Array.from({ length: TENANTS }, () => createSubjects(service)));
    const mixed = subjects.map((subject) => new MixedCalls(service, subject, { connections: 4 }));
    const acknowledged: string[] = [];
    const create = async (tenant: Tenant) => {
      acknowledged.push(await createTestEvent(service, tenant));
      return 'ok';
    };
    const calls = subjects.flatMap(({ tenant }, at) => [
      ...Object.entries(mixed[at]?.over('REST', 'Connect') ?? {}).map(([name, run]) => [`${at} ${name}`, run] as const),
      [`${at} create`, () => create(tenant).catch(describe503)] as const,
    ]);
    const load = startLoad(Object.fromEntries(calls), { callers: 12, pauseMs: 5 });
    await expect.poll(() => acknowledged.length).toBeGreaterThan(10);
    const outagesMs: number[] = [];
    for (const [index, mode] of RESTARTS.entries()) {
      const restartedAt = performance.now();
      const workers = inject('workerUrls');
      await restartWorker(workers[index % workers.length] ?? '', mode);
      await sleep(3_000);
      const last =
        failuresOf(load.answers)
          .map(endOf)
          .findLast((at) => at > restartedAt) ?? restartedAt;
      outagesMs.push(last - restartedAt);
    }
    const answers = await load.stop();
    for (const calls of mixed) calls[Symbol.dispose]();

    const failed = failuresOf(answers);
    // Citus commits what the worker has prepared: without this within a minute.
    await expect.poll(() => countPrepared(service.database, inject('workerUrls'))).toBe(0);
    const [row] = await service.database.sql`
      select count(*)::int as count from events where id = any(string_to_array(${acknowledged.join()}, ','))`;
    const lost = acknowledged.length - row?.count;
    report(context, {
      tried: `${RESTARTS.length} restarts of workers, ${answers.length} calls`,
      lost: `${lost} of ${acknowledged.length} acknowledged writes, 0 locks of prepared transactions`,
      figures: `${failed.length} answers 503, the last ${(Math.max(...outagesMs) / 1_000).toFixed(1)} s after a restart began`,
    });
    expect(log.parsed).toEqual([]);
    expect(undocumented(answers)).toEqual([]);
    expect(failed.length).toBeGreaterThan(0);
    expect(lost).toBe(0);
    const { events } = clientsOf(service, tenant);
    await expect(events.createEvent({ eventId: 'after' })).resolves.toMatchObject({ event: { eventId: 'after' } });
  });
});

/** How many shards statements may touch that are not of one application or login. */
const SHARDS: Readonly<Record<string, number>> = {
  // The expiry job runs in the service.
  select_batch_end: Number.POSITIVE_INFINITY,
  delete_batch: Number.POSITIVE_INFINITY,
  delete_sessions: Number.POSITIVE_INFINITY,
  delete_unrecorded_sessions: Number.POSITIVE_INFINITY,
  select_deleted_lists: Number.POSITIVE_INFINITY,
  // Every process looks for notices of all applications.
  select_due_notices: Number.POSITIVE_INFINITY,
  // A revoked invitation removes a user who is nothing else anywhere.
  erase_unused_user: Number.POSITIVE_INFINITY,
  // The job that finishes changes runs in the service.
  delete_late_sessions: Number.POSITIVE_INFINITY,
  delete_passkeys_of_deleted_user: Number.POSITIVE_INFINITY,
  end_group_members: Number.POSITIVE_INFINITY,
  remove_personal_data: Number.POSITIVE_INFINITY,
  remove_unfinished_change: Number.POSITIVE_INFINITY,
  // The client of a resource gets a message in its own application, which only the row of the grant names.
  end_oidc_grant: Number.POSITIVE_INFINITY,
  // Once for each identity: a user's passkeys, each on some shard, tell since when a new identity counts.
  link_identity: Number.POSITIVE_INFINITY,
  // A browser and its network have a row each.
  select_known_origins: 2,
  upsert_known_origins: 2,
  // A revocation looks for remembered sign-ins by their user, and each browser has its own on some shard.
  end_renewable_session_and_forget: Number.POSITIVE_INFINITY,
  end_sessions_of_user_and_forget: Number.POSITIVE_INFINITY,
  end_sessions_where_signed_in: Number.POSITIVE_INFINITY,
  end_oidc_grant_and_forget: Number.POSITIVE_INFINITY,
  end_oidc_grants_of_browser: Number.POSITIVE_INFINITY,
  delete_late_remembered_sign_ins_of_browser: Number.POSITIVE_INFINITY,
  delete_late_remembered_sign_ins: Number.POSITIVE_INFINITY,
};

const parseLines = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

function describe503(error: unknown): string {
  return /Service unavailable/.test(String(error)) ? 'unavailable' : String(error);
}
