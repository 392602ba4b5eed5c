/** What the log says of calls and errors, and what it never holds. */
import { randomBytes, randomUUID } from 'node:crypto';
import { stripVTControlCharacters } from 'node:util';
import type { JsonObject } from '@bufbuild/protobuf';
import { DrizzleQueryError } from 'drizzle-orm';
import { afterAll, describe, expect, test } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import type { Operation } from '../../src/api/catalogue.ts';
import { formatLine } from '../../src/log.ts';
import { TcpProxy } from '../../src/testing/tcp-proxy.ts';
import { HttpPool, request } from '../support/http.ts';
import { openHttp2Session } from '../support/http2-session.ts';
import { holdLock, waitForLockWaiters } from '../support/lock.ts';
import { OPERATIONS } from '../support/operations.ts';
import { runShell } from '../support/process.ts';
import { type Answer, call, mainProtocolOf, PROTOCOLS, type Protocol } from '../support/protocols.ts';
import { type LogLine, RecordedLog } from '../support/recorded-log.ts';
import { refuseWrites } from '../support/refuse-writes.ts';
import { credentialFor, sampleFields } from '../support/samples.ts';
import { SecretScanner } from '../support/secret-scanner.ts';
import { ADMIN_KEY, createTenant, type TestService } from '../support/service.ts';

/** A call and what its one line must say. */
interface LoggedCall {
  readonly line: Readonly<Record<'requestId' | 'protocol' | 'method' | 'code', string>> & {
    readonly applicationId: string | undefined;
    /** What a call with a wrong key had instead. */
    readonly detail: string | undefined;
    /** Undefined, or what matches any reason. */
    readonly reason: unknown;
  };
  readonly answer: Answer;
}

/** By the message of the refusal. */
const WRONG_KEYS: Readonly<Record<string, string>> = {
  'Invalid API key': 'malformed',
  'Invalid admin key': 'an API key',
};

const log = new RecordedLog();
const scanner = new SecretScanner();
const calls: LoggedCall[] = [];

const service = await log.start();
const tenant = await createTenant(service);
scanner.keepAll({ ...service.config.secrets, tenant, adminKey: ADMIN_KEY }, { allowed: [tenant.id] });
scanner.keep('encryption key', service.config.secrets.encryptionKeys?.[0]?.toString('base64') ?? '');

for (const operation of OPERATIONS) {
  await callAndKeep(operation);
  await callAndKeep(operation, { fields: {} });
  await callAndKeep(operation, { headers: { 'x-api-key': `${tenant.apiKey}!`, 'x-admin-key': tenant.apiKey } });
}
const exchanges = OPERATIONS.filter(({ method }) => method === AuthService.method.exchangeToken);
const overAll = exchanges.flatMap((operation) => PROTOCOLS.map((protocol) => ({ operation, protocol })));
for (const { operation, protocol } of overAll) await callAndKeep(operation, { protocol });

const failing = [...OPERATIONS.map((operation) => ({ operation, protocol: undefined })), ...overAll];
const samples = await Promise.all(
  failing.map(async (each) => ({ ...each, fields: await sampleFields(each.operation.method, { service, tenant }) })),
);
await breakTables(service);
for (const { operation, ...options } of samples) await callAndKeep(operation, options);

afterAll(() => service.close());

async function callAndKeep(
  operation: Operation,
  options: { fields?: JsonObject; headers?: Record<string, string>; protocol?: Protocol | undefined } = {},
): Promise<void> {
  const { method } = operation;
  const { protocol = mainProtocolOf(method) } = options;
  const { fields = await sampleFields(method, { service, tenant }) } = options;
  const { headers = credentialFor(operation, tenant) } = options;
  const requestId = randomUUID();
  const userAgent = `agent-${requestId.slice(4)}`;
  const sent = { ...headers, 'x-request-id': requestId, 'user-agent': userAgent };
  const answer = await call(protocol, service.url, method, fields, sent);
  // The audit log names methods and request IDs, as the log does, and attempts name the reason and the request ID.
  const data = method.name === 'ListAuditEvents' ? undefined : answer.data;
  const attempts = method.name === 'ListSignInAttempts' ? attemptsIn(answer) : [];
  const allowed = [tenant.id, ...attempts.flatMap(({ reason, requestId }) => [reason, requestId])];
  scanner.keepAll({ [method.name]: { fields, userAgent, data } }, { allowed });
  const hasApplication = operation.credential === 'apiKey' && answer.message !== 'Invalid API key';
  calls.push({
    line: {
      requestId,
      protocol: protocol.kind,
      method: `${method.parent.typeName}/${method.name}`,
      code: answer.code,
      reason: answer.code === 'ok' ? undefined : expect.stringMatching(/^[A-Z_]+$/),
      applicationId: hasApplication ? tenant.id : undefined,
      detail: WRONG_KEYS[answer.message],
    },
    answer,
  });
}

function attemptsIn({ data }: Answer): readonly { reason: string; requestId: string }[] {
  return (data as { signInAttempts?: { reason: string; requestId: string }[] } | undefined)?.signInAttempts ?? [];
}

/** Makes Postgres refuse every write, and signing keys impossible to decrypt. */
async function breakTables({ database: { sql } }: TestService): Promise<void> {
  const garbage = Buffer.from('planted ciphertext, not long enough at all');
  await sql`update webhooks set signing_key = substr(signing_key, 1, 4) || ${garbage}::bytea where signing_key <> ''`;
  await refuseWrites({ sql });
}

describe('every call', () => {
  const byRequest = (a: Record<string, unknown>, b: Record<string, unknown>) =>
    String(a.requestId) < String(b.requestId) ? -1 : 1;
  const ownLines = () => {
    const ids = new Set(calls.map(({ line }) => line.requestId));
    return log.callLines.filter(({ requestId }) => ids.has(String(requestId)));
  };

  test('has one line with its method, protocol, application, code, reason, status and duration, and no other field', async () => {
    await expect.poll(() => ownLines().length).toBe(calls.length);
    const lines = ownLines();
    const common = { level: 30, msg: 'call', time: expect.any(Number), status: expect.any(Number) };
    const expected = calls.map(({ line }) => ({ ...common, durationMs: expect.any(Number), ...line }));
    expect(lines.sort(byRequest)).toEqual(expected.sort(byRequest));
    for (const { durationMs } of lines) expect(durationMs).toBeGreaterThan(0);
  });

  test('has succeeded, been refused and failed in these tests', () => {
    const succeeded = calls.filter(({ line }) => line.code === 'ok').map(({ line }) => line.method);
    expect(new Set(succeeded).size).toBe(OPERATIONS.length);
    const codes = new Set(calls.map(({ line }) => line.code));
    expect(codes).toEqual(new Set(['ok', 'unauthenticated', 'invalid_argument', 'internal']));
  });
});

describe('the log', () => {
  test('holds no value of a request or a response, in whatever spelling', () => {
    scanner.look('the log', log.text);
    expect(scanner.leaks).toEqual([]);
  });

  test('holds nothing of a request that cannot be read', async () => {
    const own = new RecordedLog();
    const secrets = new SecretScanner();
    await using strict = await own.start();
    const plant = () => {
      const value = `planted+${randomBytes(6).toString('hex')}/ü?&="`;
      return encodeURIComponent(secrets.keep(value, value));
    };
    const { apiKey } = await createTenant(strict);
    const headers = () => ({
      'x-api-key': apiKey,
      'content-type': 'application/json',
      'user-agent': plant(),
      'x-forwarded-for': plant(),
      'x-request-id': `${plant()} is no request ID`,
      'connect-timeout-ms': plant(),
      cookie: plant(),
    });
    const exchange = '/api/oauth/exchange';
    const rpc = '/usher.v1.AuthService/ExchangeToken';
    const requests = [
      { method: 'POST', path: exchange, body: `{"authToken": "${plant()}` },
      { method: 'POST', path: exchange, body: JSON.stringify({ authToken: [plant()], [plant()]: plant() }) },
      { method: 'POST', path: exchange, body: plant().repeat(2_000) },
      { method: 'POST', path: rpc, body: `{"authToken": "${plant()}` },
      { method: 'POST', path: rpc, body: JSON.stringify({ authToken: { [plant()]: plant() } }) },
      { method: 'POST', path: rpc, body: plant().repeat(2_000) },
      { method: 'POST', path: `${exchange}?clientId=${plant()}&state=${plant()}`, body: '{}' },
      { method: 'GET', path: `/api/webhooks/${plant()}?${plant()}` },
      { method: 'DELETE', path: `/api/events/${plant()}%ff` },
      { method: 'PATCH', path: `/api/events/${plant()}` },
      { method: 'GET', path: `/api/${plant()}/${plant()}` },
      { method: 'POST', path: `/usher.v1.AuthService/${plant()}`, body: plant() },
      { method: 'POST', path: `/${plant()}` },
    ];
    const replies = await Promise.all(requests.map((each) => request(strict.url, { ...each, headers: headers() })));
    expect(replies.filter(({ status }) => status < 400 || status >= 500)).toEqual([]);
    await expect.poll(() => own.callLines.length).toBeGreaterThan(8);
    secrets.look('the log', own.text);
    expect(secrets.leaks).toEqual([]);
  });
});

describe('an unexpected error', () => {
  test('is an internal error to the caller', () => {
    const failures = calls.filter(({ line }) => line.code === 'internal');
    expect(new Set(failures.map(({ line }) => line.protocol)).size).toBe(4);
    for (const { answer } of failures) {
      expect(answer).toEqual({ code: 'internal', message: 'Internal error', fields: [], data: undefined });
    }
  });

  test('is logged once, with its stack, its code in Postgres and the request it belongs to', () => {
    const errors = log.parsed.filter(({ msg }) => msg === 'unexpected error');
    const failed = calls.filter(({ line }) => line.code === 'internal');
    expect(errors.map(({ requestId }) => requestId).sort()).toEqual(failed.map(({ line }) => line.requestId).sort());
    for (const { level, err, method } of errors) {
      expect({ level, err, method }).toEqual({
        level: 50,
        err: expect.objectContaining({ stack: expect.stringContaining('    at ') }),
        method: expect.stringMatching(/^usher\.v1\./),
      });
    }
    expect(errors.map(({ err }) => (err as { code?: string }).code)).toContain('P0001');
  });

  test('of Drizzle shows neither the statement nor its parameters', () => {
    const own = new RecordedLog();
    const error = new DrizzleQueryError('select planted_column', ['planted parameter'], new Error('it broke'));
    own.logger.error({ err: error }, 'unexpected error');
    own.logger.error({ err: new Error('outer', { cause: error }) }, 'unexpected error');
    expect(own.lines).toHaveLength(2);
    expect(own.text).not.toMatch(/planted/);
    expect(own.text).toContain('it broke');
  });
});

describe('the line of a call', () => {
  test('says why the database is unavailable, and shows no password', async () => {
    const own = new RecordedLog();
    await using proxy = await TcpProxy.open(service.database.url);
    const url = proxy.through(service.database.url);
    await using broken = await own.start({
      database: service.database,
      like: service.config,
      config: { databaseUrl: url, requestTimeoutMs: 300 },
    });
    using admin = new HttpPool(broken, { 'x-admin-key': ADMIN_KEY, 'x-request-id': 'refused' });
    await proxy.setMode('refuse');
    for (let attempt = 0; attempt < 3; attempt++) {
      const reply = await admin.call('POST', '/usher.v1.AdminService/DeleteUser', { userId: randomUUID() });
      expect(reply.status).toBe(503);
    }
    await expect.poll(() => own.callLines.length).toBe(3);
    for (const line of own.callLines) {
      expect(line).toMatchObject({ requestId: 'refused', reason: 'SERVICE_UNAVAILABLE', status: 503 });
      expect(line.detail).toMatch(/^(CONNECTION_CLOSED|ECONNRESET|ECONNREFUSED|[A-Z][a-z].*)$/);
    }
    await proxy.setMode('pass');
    const { password } = new URL(url);
    if (password) expect(own.text).not.toContain(decodeURIComponent(password));
  });

  test.each([
    ['its HTTP method', 'PUT', 'application/json'],
    ['its type', 'POST', 'text/plain'],
  ])('does not say ok when the call is refused for %s', async (_, method, contentType) => {
    const requestId = randomUUID();
    const path = '/usher.v1.WebhookService/GetWebhook';
    const headers = { 'content-type': contentType, 'x-request-id': requestId };
    const reply = await request(service.url, { method, path, headers, body: '{}' });
    expect([405, 415]).toContain(reply.status);
    const codes = () => log.callLines.filter((line) => line.requestId === requestId).map(({ code }) => code);
    await expect.poll(codes).toHaveLength(1);
    expect(codes()).not.toContain('ok');
  });

  test('does not say ok when the caller has gone', async () => {
    const own = new RecordedLog();
    await using quiet = await own.start();
    const requestId = randomUUID();
    await using _lock = await holdLock(quiet.database, 'lock table users in access exclusive mode');
    const admin = new HttpPool(quiet, { 'x-admin-key': ADMIN_KEY, 'x-request-id': requestId });
    const gone = admin.call('POST', '/usher.v1.AdminService/DeleteUser', { userId: randomUUID() }).catch(() => 'gone');
    await waitForLockWaiters(quiet.database);
    admin[Symbol.dispose]();
    expect(await gone).toBe('gone');
    await expect.poll(() => own.callLines.length).toBe(1);
    expect(own.callLines[0]).toMatchObject({ requestId, code: 'canceled' });
  });

  test.each([
    ['/api/oauth/exchange', 'application/json'],
    ['/usher.v1.AuthService/ExchangeToken', 'application/json; charset=utf-8'],
    ['/usher.v1.AuthService/ExchangeToken', 'application/grpc'],
  ])('says canceled when its request is shorter than announced over HTTP/2: %s, %s', async (path, type) => {
    const own = new RecordedLog();
    await using quiet = await own.start();
    const { apiKey } = await createTenant(quiet);
    using session = openHttp2Session(quiet.url);
    const requestId = randomUUID();
    const headers = { 'x-api-key': apiKey, 'content-type': type, 'content-length': '5', 'x-request-id': requestId };
    // Afterwards the service knows the key, and a call begins as soon as its headers have been read.
    await session.exchange({ ':path': '/api/webhooks/x', 'x-api-key': apiKey });
    const stream = session.open({ ':method': 'POST', ':path': path, ...headers });
    stream.write('{');
    for (let round = 0; round < 3; round++) await session.exchange({ ':path': '/healthz' });
    stream.end();
    const line = () => own.callLines.find((each) => each.requestId === requestId);
    await expect.poll(line).toBeDefined();
    expect(line()).toMatchObject({ code: 'canceled' });
  });
});

describe('a flood of calls without a valid credential', () => {
  const wrongKey = { 'x-api-key': `usk_${'0'.repeat(49)}` };
  const check = { ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', 'content-type': 'application/json' };
  test.each<[string, string, Record<string, string>, string?]>([
    ['with a wrong key', 'unauthenticated', { ':path': '/api/webhooks/x', ...wrongKey }],
    ['for the health', 'ok', check, '{}'],
    ['to the login page', 'login', { ':path': '/login' }],
  ])('%s has 100 lines a second, and one that counts those left out', async (_, kind, head, body) => {
    const own = new RecordedLog();
    await using quiet = await own.start({ database: service.database, like: service.config });
    using client = openHttp2Session(quiet.url);
    using admin = new HttpPool(quiet, { 'x-admin-key': ADMIN_KEY });
    const count = 1_000;
    const startedAt = performance.now();
    const flood = Array.from({ length: count }, () => client.exchange(head, body));
    // Their callers are known.
    const known = Array.from({ length: 120 }, () => admin.call('POST', '/usher.v1.AdminService/ListUsers', {}));
    await Promise.all([...flood, ...known]);

    const isFlood = ({ method }: LogLine) => method !== 'usher.v1.AdminService/ListUsers';
    const lines = () => own.callLines.filter(isFlood).length;
    const summaries = () =>
      own.parsed.filter(({ msg, kind: each }) => msg === 'calls left out of the log' && each === kind);
    const leftOut = () => summaries().reduce((sum, each) => sum + Number(each.leftOut), 0);
    await expect.poll(() => lines() + leftOut()).toBe(count);
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(lines()).toBeLessThanOrEqual(100 * (seconds + 2));
    expect(own.callLines.filter((line) => !isFlood(line))).toHaveLength(120);
  });
});

describe('on a terminal', () => {
  test('a line has the time, the level, the message, the fields, and the stack of an error', () => {
    const time = new Date(2026, 2, 1, 12, 30, 5).getTime();
    const err = { type: 'Error', message: 'No\u001b[31m', stack: 'Error: No\u001b[31m\r\n    at x.ts:1:1' };
    const line = JSON.stringify({
      level: 50,
      time,
      requestId: 'a-b',
      detail: 'a b\u001b[2J',
      status: 503,
      err,
      msg: 'call',
    });
    expect(stripVTControlCharacters(formatLine(line))).toBe(
      '12:30:05 error call requestId=a-b detail="a b\\u001b[2J" status=503\nError: No\n    at x.ts:1:1\n',
    );
  });

  test('a call that went well is one short line, and one that failed has all fields', () => {
    const time = new Date(2026, 2, 1, 12, 30, 5).getTime();
    const line = { level: 30, time, requestId: 'a-b', protocol: 'REST', method: 'usher.v1.A/Get', msg: 'call' };
    const show = (fields: object) => stripVTControlCharacters(formatLine(JSON.stringify({ ...line, ...fields })));
    expect(show({ code: 'ok', status: 200, durationMs: 1.5 })).toBe('12:30:05 REST usher.v1.A/Get 200 1.5 ms\n');
    expect(show({ code: 'not_found', reason: 'NONE' })).toContain(' requestId=a-b ');
  });

  // Elsewhere it writes JSON, which every test that starts a process reads.
  test('the service writes such lines', async () => {
    const PROGRAM =
      'import { createLogger } from "./src/log.ts"; createLogger("info").info({ url: "http://a" }, "listening");';
    const { stdout: shown } = await runShell(`script -qec 'node --input-type=module -e "$PROGRAM"' /dev/null`, {
      PROGRAM,
    });
    expect(stripVTControlCharacters(shown)).toMatch(/^\r?\d\d:\d\d:\d\d info {2}listening url=http:\/\/a\r?\n$/);
  });
});

test('a flush that succeeds has written each line, though the process is killed at once', async () => {
  // More than a batch, so that a write is in progress when the flush begins.
  const lines = 30;
  const program = `
    import { createLogger, flushLog } from './src/log.ts';
    const logger = createLogger('info');
    for (let line = 0; line < ${lines}; line++) logger.info({ text: 'x'.repeat(200) }, 'line');
    if (await flushLog(logger, 60_000)) process.kill(process.pid, 'SIGKILL');`;
  const { stdout } = await runShell('node --input-type=module --eval "$PROGRAM"; true', { PROGRAM: program });
  expect(stdout.match(/"msg":"line"}\n/g)).toHaveLength(lines);
});
