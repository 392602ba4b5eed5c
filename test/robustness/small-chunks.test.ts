/** Bodies in chunks of a byte: a process with 512 MiB outlives them, and takes no more memory than their bytes. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, test, vi } from 'vitest';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { pathOf } from '../../src/api/procedures.ts';
import { readUsage } from '../lab/bench/read-usage.ts';
import { cloneDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { findFreePort } from '../support/free-port.ts';
import { request } from '../support/http.ts';
import { encodeFrame, encodeHeaders, encodePreface, FRAME } from '../support/http2-frames.ts';
import { startSocketServer } from '../support/mail-server.ts';
import { CONTAINER_BYTES, CONTAINER_NODE_OPTIONS, limitMemory } from '../support/memory-limit.ts';
import { createSubjectsIn } from '../support/mixed-calls.ts';
import { createRsaJwk } from '../support/oidc.ts';
import { startUsher } from '../support/process.ts';
import { ADMIN_KEY, clientsOf, createTenant, createTestEvent, createTestUser } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const MB = 1024 * 1024;
/** With a buffer for each chunk, these took 5 MB a connection. */
const CHUNKS = 16_000;
const CONNECTIONS = 160;
const MAX_GROWTH_BYTES = 60 * MB;
/** What a socket reads at once is garbage for a while. */
const MAX_RESIDENT_BYTES = 120 * MB;
/** Ten times as many connections: they take memory themselves, most of it the requests that are open. */
const MAX_MANY_USED_BYTES = 120 * MB;
const MAX_MANY_RESIDENT_BYTES = 300 * MB;
/** Frames of this length, which HTTP/2 must ignore, come before each byte, so that a byte keeps what a socket reads. */
const UNKNOWN_BYTES = 16_384;
const UNKNOWN_FRAME = 77;
const PADDED_CHUNKS = quickOrLong(20, 70);
const CALM_MS = 200;
const WATCH_MS = 120_000;

/** Writes what is used of the memory when the garbage is gone. */
const PROBE = `
const { setFlagsFromString } = process.getBuiltinModule('v8');
const { runInNewContext } = process.getBuiltinModule('vm');
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
process.on('SIGUSR2', () => {
  collect();
  // The memory of buffers is freed by another thread.
  setTimeout(() => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    process.stderr.write(heapUsed + external + '\\n');
  }, 200);
});`;

const inMb = (bytes: number) => `${(bytes / MB).toFixed(0)} MB`;
const LONG = { timeout: 600_000 };
/** Deliveries: messages of applications to the webhooks of each. With a buffer for each chunk, an attempt took 1.35 MB. */
const APPLICATIONS = quickOrLong(8, 10);
const WEBHOOKS = quickOrLong(5, 10);
const MESSAGES = quickOrLong(8, 64);
const ATTEMPTS = quickOrLong(120, 2_700);
/** Answers that fail are soon tried less often. */
const FAILED_ATTEMPTS = quickOrLong(60, 400);
/** What an endpoint answers, and how many attempts are waited for. */
const ANSWERS: Readonly<Record<string, readonly [answer: string, attempts: number]>> = {
  'chunks of a byte': [`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(4_000)}`, ATTEMPTS],
  'heads of many headers': [`HTTP/1.1 200 OK\r\n${'a:\r\n'.repeat(3_900)}content-length: 9\r\n\r\na`, ATTEMPTS],
  'heads of different headers': [`HTTP/1.1 200 OK\r\n${listNames(1_900)}content-length: 9\r\n\r\na`, ATTEMPTS],
  'heads of a long header': [`HTTP/1.1 200 OK\r\na: ${'b'.repeat(16_000)}\r\ncontent-length: 9\r\n\r\na`, ATTEMPTS],
  'heads that do not end': [`HTTP/1.1 200 OK\r\n${listNames(1_900)}`, FAILED_ATTEMPTS],
  'informational responses': ['HTTP/1.1 103 Early Hints\r\na: b\r\n\r\n'.repeat(1_000), FAILED_ATTEMPTS],
};

const database = await cloneDatabase();
const limit = limitMemory(CONTAINER_BYTES);
const limitedBy = typeof limit === 'string' ? `without a limit, since ${limit}` : 'in 512 MiB';
const { tenant } = await createSubjectsIn(database.url);
const consolePort = await findFreePort();
const operators = join(await createDirectory(), 'operators');
await writeFile(operators, 'ada@example.com admin\n');
const service = await startUsher(
  database.url,
  {
    NODE_OPTIONS: `${CONTAINER_NODE_OPTIONS} --import=data:text/javascript,${encodeURIComponent(PROBE)}`,
    CONSOLE_PORT: String(consolePort),
    OPERATORS_FILE: operators,
    OIDC_SIGNING_KEYS_FILE: 'oidc',
    WEBHOOK_CONCURRENCY: quickOrLong('128', '512'),
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  },
  {
    cgroup: typeof limit === 'object' ? limit.processes : undefined,
    files: { oidc: JSON.stringify({ keys: [createRsaJwk()] }) },
  },
);

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  if (typeof limit === 'object') limit[Symbol.dispose]();
});

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const KEY = { 'x-api-key': tenant.apiKey };
const CREATE = pathOf(EventService.method.createEvent);
const CHECK = pathOf(Health.method.check);
const REFLECT = pathOf(ServerReflection.method.serverReflectionInfo);

interface Door {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly port?: number;
  /** What comes first in the body: an envelope announces the rest. */
  readonly first?: Buffer;
}

const rpc = (type: string, path = CREATE, headers: Record<string, string> = KEY): Door => ({
  path,
  headers: { 'content-type': type, ...headers },
  ...(type.includes('grpc') && { first: Buffer.from([0, 0, 0, path === CHECK ? 4 : 0xff, path === CHECK ? 0 : 0xff]) }),
});

const DOORS: Readonly<Record<string, Door>> = {
  'the token endpoint': { path: '/oidc/token', headers: FORM },
  'the page of devices': { path: '/device', headers: FORM },
  'the page of a login': { path: '/login/email', headers: FORM },
  "the console's sign-out": {
    path: '/sign-out',
    headers: { ...FORM, 'sec-fetch-site': 'same-origin' },
    port: consolePort,
  },
  'a REST call': { path: '/api/events', headers: { ...KEY, 'content-type': 'application/json' } },
  'a Connect call': rpc('application/json'),
  'a Connect call in gzip': rpc('application/json', CREATE, { ...KEY, 'content-encoding': 'gzip' }),
  'a gRPC-Web call': rpc('application/grpc-web+proto'),
  'a gRPC-Web call without a credential': rpc('application/grpc-web+proto', CHECK, {}),
  'a gRPC-Web call in base64': {
    ...rpc('application/grpc-web-text+proto'),
    first: Buffer.from('AAAA//8A'),
  },
  'an import': { path: '/admin/users.jsonl', headers: { 'x-admin-key': ADMIN_KEY } },
  'a path that nobody serves': { path: '/nothing', headers: {} },
};

const HTTP2_DOORS: Readonly<Record<string, Door>> = {
  'the token endpoint': { path: '/oidc/token', headers: FORM },
  'a REST call': { path: '/api/events', headers: KEY },
  'a gRPC call': rpc('application/grpc'),
  'a gRPC call without a credential': rpc('application/grpc', CHECK, {}),
  'a gRPC call in gzip': rpc('application/grpc', CREATE, { ...KEY, 'grpc-encoding': 'gzip' }),
  'a gRPC-Web call': rpc('application/grpc-web+proto'),
  'a stream': rpc('application/grpc', REFLECT, {}),
};

interface Attack {
  readonly port: number;
  readonly first: Buffer;
  readonly unit: Buffer;
  readonly count: number;
}

function chunked({ path, headers, port = service.port, first }: Door): Attack {
  const head = Object.entries({ host: 'a', ...headers, 'transfer-encoding': 'chunked' });
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const begin = first ? [Buffer.from(`${first.length.toString(16)}\r\n`), first, Buffer.from('\r\n')] : [];
  const request = Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines}\r\n`), ...begin]);
  return { port, first: request, unit: Buffer.from('1\r\na\r\n'), count: CHUNKS };
}

function framed({ path, headers, first }: Door): Attack {
  const head = encodeHeaders(1, { ':method': 'POST', ':path': path, ...headers }, { endStream: false });
  const begin = first ? [encodeFrame(FRAME.data, 0, 1, first)] : [];
  const unit = encodeFrame(FRAME.data, 0, 1, Buffer.from('a'));
  return { port: service.port, first: Buffer.concat([encodePreface(), head, ...begin]), unit, count: CHUNKS };
}

/** As `framed`, with as many ignored bytes before each byte as a socket reads at once. */
function padded(door: Door): Attack {
  const attack = framed(door);
  const ignored = Array.from({ length: 4 }, () => encodeFrame(UNKNOWN_FRAME, 0, 0, Buffer.alloc(UNKNOWN_BYTES)));
  return { ...attack, unit: Buffer.concat([...ignored, attack.unit]), count: PADDED_CHUNKS };
}

const name = (prefix: string, doors: Readonly<Record<string, Door>>, toAttack: (door: Door) => Attack) =>
  Object.entries(doors).map(([what, door]): [string, Attack] => [`${prefix} ${what}`, toAttack(door)]);

const small = [...name('chunks of a byte to', DOORS, chunked), ...name('frames of a byte to', HTTP2_DOORS, framed)];
const hidden = name('frames of a byte behind unknown frames to', HTTP2_DOORS, padded);

interface Round {
  readonly what: string;
  readonly attacks: readonly Attack[];
  readonly connections: number;
  readonly maxUsed: number;
  readonly maxResident: number;
}

const limits = { connections: CONNECTIONS, maxUsed: MAX_GROWTH_BYTES, maxResident: MAX_GROWTH_BYTES };
const behindLimits = { ...limits, maxResident: MAX_RESIDENT_BYTES };
const toRounds = (named: typeof small, roundLimits: typeof limits) =>
  named.map(([what, attack]): Round => ({ what, attacks: [attack], ...roundLimits }));
const allOf = (named: typeof small) => named.map(([, attack]) => attack);
/** All together in the short form; one after the other, and all together ten times, in the long one. */
const rounds: readonly Round[] = quickOrLong(
  [
    { what: 'chunks and frames of a byte to every door', attacks: allOf(small), ...limits },
    { what: 'frames of a byte behind unknown frames to every door', attacks: allOf(hidden), ...behindLimits },
  ],
  [
    ...toRounds(small, limits),
    ...toRounds(hidden, behindLimits),
    {
      what: 'ten times all of these',
      attacks: allOf([...small, ...hidden]),
      connections: 10 * CONNECTIONS,
      maxUsed: MAX_MANY_USED_BYTES,
      maxResident: MAX_MANY_RESIDENT_BYTES,
    },
  ],
);

test.for(rounds)('$what take no more memory than their bytes', { timeout: 600_000 }, async (round, context) => {
  const { what, attacks, connections, maxUsed, maxResident } = round;
  // What is loaded, compiled and connected once is not what the bytes take.
  await Promise.all((await openSockets(attacks, 1)).map(([socket, attack]) => send(socket, { ...attack, count: 10 })));
  const sockets = await openSockets(attacks, Math.ceil(connections / attacks.length));
  await settle();
  const [usedBefore, residentBefore] = [await readUsed(), service.residentBytes()];
  writeFileSync(`/proc/${service.pid}/clear_refs`, '5');
  const sent = await Promise.all(sockets.map(([socket, attack]) => send(socket, attack)));
  await settle();
  const used = (await readUsed()) - usedBefore;
  const resident = peakResident() - residentBefore;
  for (const [socket] of sockets) socket.destroy();
  report(context, {
    tried: `${sockets.length} connections: ${what} (${limitedBy})`,
    figures: `${inMb(sent.reduce((sum, bytes) => sum + bytes, 0))} sent, +${inMb(used)} in use, +${inMb(resident)} resident at most`,
  });
  const errors = service.stderr.replace(/^\d+\n/gm, '');
  expect({ isRunning: service.isRunning, errors }).toEqual({ isRunning: true, errors: '' });
  expect((await request(service.url, { path: '/healthz' })).status).toBe(200);
  expect(used).toBeLessThan(maxUsed);
  expect(resident).toBeLessThan(maxResident);
});

test.for(Object.entries(ANSWERS))(
  'answers of endpoints in %s take no more memory than what is kept of them',
  LONG,
  async ([what, [answer, enough]], context) => {
    const held = new Set<Socket>();
    let attempts = 0;
    let mostHeld = 0;
    // Holds what it has answered, until the attempt is late.
    await using endpoint = await startSocketServer((socket) => {
      socket.on('data', () => {
        if (held.has(socket)) return;
        attempts++;
        held.add(socket);
        mostHeld = Math.max(mostHeld, held.size);
        socket.write(answer);
      });
      socket.on('close', () => held.delete(socket));
    });
    const tenants = await Promise.all(Array.from({ length: APPLICATIONS }, () => createTenant(service)));
    for (const tenant of tenants) {
      const { id: ownerId } = await createTestUser(service, { applicationIds: [tenant.id] });
      const { webhooks } = clientsOf(service, tenant);
      for (let number = 0; number < WEBHOOKS; number++) {
        const url = `http://127.0.0.1:${endpoint.port}/${tenant.id}/${number}`;
        await webhooks.createWebhook({ url, ownerId, eventTypes: ['event.created'] });
      }
    }
    await settle();
    const [usedBefore, residentBefore] = [await readUsed(), service.residentBytes()];
    writeFileSync(`/proc/${service.pid}/clear_refs`, '5');
    for (const tenant of tenants) for (let event = 0; event < MESSAGES; event++) await createTestEvent(service, tenant);
    await expect.poll(() => attempts, { timeout: WATCH_MS }).toBeGreaterThanOrEqual(enough);
    const used = (await readUsed()) - usedBefore;
    const resident = peakResident() - residentBefore;
    report(context, {
      tried: `${attempts} attempts that are answered in ${what} and held open, ${mostHeld} at once (${limitedBy})`,
      figures: `+${inMb(used)} in use, +${inMb(resident)} resident at most`,
    });
    expect(service.isRunning).toBe(true);
    expect(used).toBeLessThan(MAX_GROWTH_BYTES);
    expect(resident).toBeLessThan(MAX_RESIDENT_BYTES);
  },
);

function listNames(count: number): string {
  return Array.from({ length: count }, (_, at) => `${at.toString(36)}:\r\n`).join('');
}

async function openSockets(each: readonly Attack[], count: number): Promise<[Socket, Attack][]> {
  return await Promise.all(
    each.flatMap((attack) =>
      Array.from({ length: count }, async (): Promise<[Socket, Attack]> => {
        const socket = connect(attack.port, '127.0.0.1')
          .on('error', () => {})
          .resume();
        await once(socket, 'connect');
        return [socket, attack];
      }),
    ),
  );
}

/** Sends the bytes until the service has taken them or closed the connection. Resolves to how many it was. */
async function send(socket: Socket, { first, unit, count }: Attack): Promise<number> {
  // At most some 100 KB at a time, which all connections share.
  const perBlock = Math.max(1, Math.min(count, Math.floor(96_000 / unit.length)));
  const block = blockOf(unit, perBlock);
  socket.write(first);
  const ended = (event: string) => new Promise((resolve) => socket.once(event, resolve));
  const closed = ended('close');
  for (let left = count; left > 0 && socket.writable; left -= perBlock) {
    const bytes = left < perBlock ? block.subarray(0, left * unit.length) : block;
    if (!socket.write(bytes)) await Promise.race([closed, ended('drain')]);
  }
  return socket.bytesWritten;
}

const blocks = new Map<Buffer, Buffer>();
function blockOf(unit: Buffer, count: number): Buffer {
  const known = blocks.get(unit);
  if (known?.length === unit.length * count) return known;
  const block = Buffer.alloc(unit.length * count, unit);
  blocks.set(unit, block);
  return block;
}

/** Resolves when the service does next to nothing. */
async function settle(): Promise<void> {
  let { cpuMicros } = readUsage(service.pid);
  for (const startedAt = performance.now(); service.isRunning && performance.now() - startedAt < WATCH_MS; ) {
    await sleep(CALM_MS);
    const now = readUsage(service.pid).cpuMicros;
    if (now - cpuMicros < CALM_MS * 100) return;
    cpuMicros = now;
  }
}

async function readUsed(): Promise<number> {
  const { length } = service.stderr;
  service.kill('SIGUSR2');
  await vi.waitFor(
    () => expect([service.isRunning, service.stderr.slice(length)]).toEqual([true, expect.stringContaining('\n')]),
    { timeout: WATCH_MS, interval: 5 },
  );
  return Number(service.stderr.slice(length));
}

function peakResident(): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${service.pid}/status`, 'utf8'))?.[1]) * 1024;
}
