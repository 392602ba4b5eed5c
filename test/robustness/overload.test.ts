/**
 * More calls than the service can answer: it answers those it admits in time, and refuses the others at once. The short
 * form counts them. Only the long one has the machine to itself, as times need.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { TcpProxy } from '../../src/testing/tcp-proxy.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { type HttpReply, openHttp2Session, readReply } from '../support/http2-session.ts';
import { type Answer, type Load, longestOf, quantileOf, startLoad, startOpenLoopLoad } from '../support/load.ts';
import { LOGIN_CONFIG, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { startUsher, type UsherProcess } from '../support/process.ts';
import { type Protocol, protocolNamed, toRequest } from '../support/protocols.ts';
import { adminClient, createTenant, REDIRECT_URI, startTestService, type Tenant } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

/** The deadline of a call, and how soon after an overload all calls are admitted again. */
const DEADLINE_MS = 5_000;
const RECOVERY_MS = 2_000;
/** A service that has not recovered by then never does. */
const GIVE_UP_MS = 60_000;
/** How long a statement takes in the slow database, and so how many its two connections run in a second. */
const STATEMENT_SECONDS = 0.05;
const CAPACITY = 2 / STATEMENT_SECONDS;
/** The calls of an application that are admitted at a time. */
const ADMITTED = 1_000;
const STREAMS_PER_SESSION = 200;

const OVERLOAD_MS = 40_000;
const TIMEOUT_MS = 120_000;

const wires = ['REST over HTTP/2', 'gRPC over HTTP/2'].map(protocolNamed);

test('a thousand calls are admitted at a time, and others are refused before they cost a statement', async () => {
  // With one connection no statement waits for a lock of another, whose process a busy machine has paused.
  await using service = await startTestService({ config: { databaseConnections: 1, requestTimeoutMs: TIMEOUT_MS } });
  const tenant = await createTenant(service);
  using stack = new DisposableStack();
  // Far fewer streams on each connection than it may have.
  const concurrency = 4 * ADMITTED;
  const [rest, grpc] = wires.map((wire) => stack.use(openCaller({ service, tenant, wire, concurrency })));
  if (!rest || !grpc) throw new Error('No protocol');
  const { statements, open } = await closeGate(service.database);
  const calls = Array.from({ length: ADMITTED + 20 }, rest.call);
  await expect.poll(() => rest.refusals.length, { timeout: TIMEOUT_MS }).toBe(20);
  expect(await Promise.all(Array.from({ length: 20 }, grpc.call))).toEqual(Array(20).fill('refused'));
  for (const refusal of [...rest.refusals, ...grpc.refusals]) expectRefusal(refusal);
  await open();
  const outcomes = await Promise.all(calls);
  expect(outcomes.filter((outcome) => outcome === 'served')).toHaveLength(ADMITTED);
  expect(await grpc.call()).toBe('served');
  expect(await statements()).toBe(ADMITTED + 1);
});

describe.runIf(quickOrLong(false, true))('beside operators,', () => {
  let database: TestDatabase;
  let service: UsherProcess;

  beforeAll(async () => {
    database = await cloneDatabase();
    service = await startUsher(database.url, { DATABASE_CONNECTIONS: '2', REQUEST_TIMEOUT_MS: String(DEADLINE_MS) });
  });
  afterAll(async () => {
    await service?.[Symbol.asyncDispose]();
    await database?.[Symbol.asyncDispose]();
  });

  describe.each(wires)('over $name', (wire) => {
    const open = async (concurrency: number) =>
      openCaller({ service, tenant: await createTenant(service), wire, concurrency });

    test('refuses what exceeds the capacity of Postgres before it costs a statement', async (context) => {
      using caller = await open(STREAMS_PER_SESSION);
      await using slow = await slowDown(database, `perform pg_sleep(${STATEMENT_SECONDS})`);
      await expectControlled(context, { service, caller }, () => startOpenLoopLoad(caller.call, 2 * CAPACITY));
      expect(await slow.statements()).toBe(caller.served());
    });

    test('refuses calls above the limit of calls in flight', async (context) => {
      const callers = 2 * ADMITTED;
      using caller = await open(callers);
      await expectControlled(context, { service, caller }, () => startLoad({ login: caller.call }, { callers }));
    });
  });
});

test('the login page serves 100 requests at a time while Postgres hangs and refuses others with 503', async () => {
  await using database = await cloneDatabase();
  await using proxy = await TcpProxy.open(database.url);
  // None of those that are admitted ends before all have come.
  const config = { ...LOGIN_CONFIG, databaseUrl: proxy.through(database.url), requestTimeoutMs: TIMEOUT_MS };
  await using slow = await startTestService({ database, config });
  const visit = () => new LoginBrowser(slow).open(`/login?intent=${randomUUID()}`);
  expect((await visit()).status).toBe(404);
  await proxy.setMode('freeze');
  const refused: LoginPage[] = [];
  const crowd = Array.from({ length: 140 }, async () => {
    const page = await visit();
    if (page.status === 503) refused.push(page);
    return page.status;
  });
  await expect.poll(() => refused.length, { timeout: TIMEOUT_MS }).toBe(40);
  expect(refused[0]).toMatchObject({ heading: 'We cannot sign you in right now', headers: { 'retry-after': '1' } });
  await proxy.setMode('pass');
  expect((await Promise.all(crowd)).filter((status) => status === 404)).toHaveLength(100);
  expect((await visit()).status).toBe(404);
});

type Caller = ReturnType<typeof openCaller>;

interface CallerOptions {
  readonly service: { readonly url: string };
  readonly tenant: Pick<Tenant, 'apiKey' | 'clientId'>;
  readonly wire: Protocol;
  readonly concurrency: number;
}

/** Calls resolve to `served` or `refused`, or to any other status. */
function openCaller({ service, tenant: { clientId, apiKey }, wire, concurrency }: CallerOptions) {
  const fields = { clientId, redirectUri: REDIRECT_URI, state: 'state' };
  const call = { method: AuthService.method.generateAuthUrl, fields, headers: { 'x-api-key': apiKey } };
  const { method, path, headers, body } = toRequest(wire, call);
  const count = Math.ceil(concurrency / STREAMS_PER_SESSION);
  const sessions = Array.from({ length: count }, () => openHttp2Session(service.url));
  const refusals: HttpReply[] = [];
  let calls = 0;
  let served = 0;
  return {
    refusals,
    served: () => served,
    async call() {
      const stream = sessions[calls++ % count]?.open({ ':method': method, ':path': path, ...headers });
      if (!stream) throw new Error('No session');
      stream.end(body);
      const reply = await readReply(stream, { timeoutMs: TIMEOUT_MS });
      const { code, message } = wire.read(reply);
      if (code === 'ok') {
        served++;
        return 'served';
      }
      if (code !== 'unavailable') return `${code} ${message}`;
      refusals.push(reply);
      return 'refused';
    },
    [Symbol.dispose]() {
      for (const session of sessions) session[Symbol.dispose]();
    },
  };
}

function expectRefusal({ status, headers, trailers, body }: HttpReply): void {
  if (status === 503) {
    expect(headers).toMatchObject({ 'retry-after': '1', 'content-type': 'application/json' });
    expect(JSON.parse(body)).toEqual({ status: false, message: 'Service unavailable', reason: 'SERVICE_UNAVAILABLE' });
  } else {
    expect({ ...headers, ...trailers }).toMatchObject({ 'grpc-status': '14', 'retry-after': '1' });
  }
}

/** Makes the calls of operators, which are never refused. */
function startBystander(service: { readonly url: string }): Load {
  const admin = adminClient(service);
  const get = (path: string) => async () => String((await request(service.url, { path })).status);
  const createUser = async () => {
    const email = `${randomBytes(8).toString('hex')}@example.com`;
    await admin.createUser({ email, walletAddress: email });
    return '200';
  };
  return startLoad({ live: get('/healthz'), ready: get('/readyz'), createUser }, { callers: 3, pauseMs: 200 });
}

/** Makes every insert of a login intent wait until the gate is open, and counts them, those that fail included. */
async function closeGate(database: TestDatabase) {
  const { sql } = database;
  await sql`create table gate ()`;
  await sql`insert into gate default values`;
  const { statements } = await slowDown(
    database,
    'while exists (select from gate) loop perform pg_sleep(0.01); end loop',
  );
  return { statements, open: () => sql`delete from gate` };
}

/** Makes every insert of a login intent wait, and counts them, those that fail included. */
async function slowDown(
  { sql }: TestDatabase,
  wait: string,
): Promise<AsyncDisposable & { statements(): Promise<number> }> {
  await sql.unsafe(`
    create sequence slow_statements;
    create function take_time() returns trigger language plpgsql as $$
      begin
        perform nextval('slow_statements');
        ${wait};
        return new;
      end $$;
    create trigger slow before insert on login_intents for each row execute function take_time()`);
  return {
    async statements() {
      const [row] = await sql<{ last: number }[]>`select last_value::int as last from slow_statements`;
      return row?.last ?? 0;
    },
    async [Symbol.asyncDispose]() {
      await sql.unsafe('drop function take_time cascade; drop sequence slow_statements');
    },
  };
}

/** Expects every call to be served in time or refused, a quick recovery, and no effect on the operators' calls. */
async function expectControlled(
  context: TestContext,
  { service, caller }: { readonly service: { readonly url: string }; readonly caller: Caller },
  start: () => Pick<Load, 'stop'>,
): Promise<void> {
  const bystander = startBystander(service);
  const load = start();
  await sleep(OVERLOAD_MS);
  await expect.poll(() => caller.refusals.length).toBeGreaterThan(0);
  const answers = await load.stop();
  const recoveredMs = await recover(caller);
  const others = await bystander.stop();
  const served = answers.filter(({ outcome }) => outcome === 'served');
  const refused = answers.filter(({ outcome }) => outcome === 'refused');
  const lost = answers.filter(({ outcome }) => outcome !== 'served' && outcome !== 'refused');
  report(context, {
    tried: `${answers.length} calls ${context.task.suite?.name}: ${context.task.name}`,
    lost: `${lost.length} calls`,
    figures: `served ${summarize(served)}; refused ${summarize(refused)}; recovered after ${Math.round(recoveredMs)} ms`,
  });
  expect(lost).toEqual([]);
  expect(served.length).toBeGreaterThan(0);
  for (const reply of caller.refusals.slice(0, 10)) expectRefusal(reply);
  expect(longestOf(served)).toBeLessThan(DEADLINE_MS);
  expect(recoveredMs).toBeLessThan(RECOVERY_MS);
  // Readiness asks Postgres, and is 503 if there is no answer within a second.
  expect(others.filter(({ call, outcome }) => outcome !== '200' && call !== 'ready')).toEqual([]);
  expect(others.filter(({ call, outcome }) => outcome === '200' && call === 'ready')).not.toEqual([]);
}

/** Resolves to how long it takes until ten calls in a row are served. @throws if they never are */
async function recover({ call }: Caller): Promise<number> {
  const startedAt = performance.now();
  for (let inARow = 0; inARow < 10; ) {
    inARow = (await call()) === 'served' ? inARow + 1 : 0;
    if (performance.now() - startedAt > GIVE_UP_MS) throw new Error('Calls are still refused');
  }
  return performance.now() - startedAt;
}

function summarize(answers: readonly Answer[]): string {
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) => Math.round(quantileOf(answers, part)));
  return `${answers.length} (p50 ${p50} ms, p99 ${p99} ms, at most ${most} ms)`;
}
