/** Streams of messages: with tools that know no schema, on several replicas, at a shutdown, idle ones, and slow readers. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  create,
  createFileRegistry,
  type DescMethodServerStreaming,
  fromBinary,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionAlpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { MessageService, type WatchMessagesResponse } from '../../gen/usher/v1/message_pb.ts';
import { createUsherClient } from '../../src/client/usher-client.ts';
import { WATCH_COMMAND } from '../../src/reference/docs/message-guide.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { quantileOf, startLoad } from '../support/load.ts';
import { MEASURED, openMetrics, scrape } from '../support/metrics.ts';
import { REPOSITORY, startUsher } from '../support/process.ts';
import { frame } from '../support/protocols.ts';
import {
  clientsOf,
  createTenant,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

/** Starts a service whose feeds work. */
function startService(options: TestServiceOptions = {}) {
  return startTestService({ ...options, config: { webhookDelivery: true, ...options.config } });
}

/** Watches until the test is over. */
function watch(url: string, apiKey: string, fields: { cursor?: string; heartbeatSeconds?: number } = {}) {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const client = createClient(MessageService, createGrpcTransport({ baseUrl: url }));
  return client.watchMessages(fields, { headers: { 'x-api-key': apiKey }, signal: leaving.signal });
}

const eventIdsOf = ({ messages }: WatchMessagesResponse) => messages.map(({ data }) => data?.eventId);

describe('tools that know no schema', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service?.close());

  test.each(['', '--protocol grpc --http2-prior-knowledge', '--protocol grpcweb --http2-prior-knowledge'])(
    'buf curl %s prints messages as they come',
    async (options) => {
      const { apiKey } = await createTenant(service, { messageFeed: true });
      const command = WATCH_COMMAND.replace('buf curl', `exec ${REPOSITORY}/node_modules/.bin/buf curl ${options}`);
      const env = { PATH: process.env.PATH, HOME: process.env.HOME, USHER_URL: service.url, API_KEY: apiKey };
      const child = spawn('bash', ['-c', command], { env, stdio: ['ignore', 'pipe', 'ignore'] });
      let output = '';
      child.stdout.on('data', (text) => {
        output += text;
      });
      await expect.poll(() => output).toContain('"cursor"');
      await clientsOf(service, { apiKey }).events.createEvent({ eventId: 'fest' });
      await expect.poll(() => output).toMatch(/"eventId": ?"fest"/);
      child.kill();
      await once(child, 'exit');
    },
  );

  // The two differ in their names only.
  test.each([
    ['v1', ServerReflection.method.serverReflectionInfo],
    ['v1alpha', ServerReflectionAlpha.method.serverReflectionInfo as never],
  ] as [string, typeof ServerReflection.method.serverReflectionInfo][])(
    'what reflection %s describes is enough for a watch',
    async (_, serverReflectionInfo) => {
      const { apiKey } = await createTenant(service, { messageFeed: true });
      await clientsOf(service, { apiKey }).events.createEvent({ eventId: 'fest' });
      using client = new GrpcClient(service);
      const messageRequest = { case: 'fileContainingSymbol' as const, value: MessageService.typeName };
      const [answer] = await client.bidiStream(serverReflectionInfo, [
        create(serverReflectionInfo.input, { messageRequest }),
      ]);
      const found = answer?.messageResponse;
      if (found?.case !== 'fileDescriptorResponse') throw new Error('No schema');
      const files = found.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes));
      const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: files.reverse() }));
      const method = registry.getService(MessageService.typeName)?.methods.find(({ name }) => name === 'WatchMessages');
      if (method?.methodKind !== 'server_streaming') throw new Error('No stream');
      const request = create(method.input, { cursor: 'oldest' });
      const stream = client.serverStream(method as DescMethodServerStreaming, request, {
        headers: { 'x-api-key': apiKey },
      });
      stream.on('error', () => {});
      for await (const response of stream) {
        const { messages = [] } = toJson(method.output, response) as { messages?: object[] };
        if (messages.length === 0) continue;
        expect(messages).toMatchObject([{ type: 'event.created', data: { eventId: 'fest' } }]);
        break;
      }
      stream.cancel();
    },
  );
});

test('a stream ends with UNAVAILABLE and a last cursor when its process stops, and another replica goes on', async () => {
  await using database = await cloneDatabase();
  const first = await startService({ database });
  const { apiKey } = await createTenant(first, { messageFeed: true });
  await using second = await startService({ database, like: first.config });
  const { events } = clientsOf(second, { apiKey });
  const cursors: string[] = [];
  const read = async () => {
    for await (const { cursor } of watch(first.url, apiKey)) cursors.push(cursor);
  };
  const ending = read().catch((error) => ConnectError.from(error).code);
  await expect.poll(() => cursors.length).toBe(1);
  await events.createEvent({ eventId: 'before' });
  await expect.poll(() => cursors.length).toBe(2);
  await first.close();
  expect(await ending).toBe(Code.Unavailable);
  expect(cursors).toHaveLength(3);
  await events.createEvent({ eventId: 'after' });
  for await (const response of watch(second.url, apiKey, { cursor: cursors.at(-1) ?? '' }))
    if (response.messages.length > 0) {
      expect(eventIdsOf(response)).toEqual(['after']);
      break;
    }
});

const IN_FLIGHT = 64;
const CHECK_INS = quickOrLong(250, 20_000);
const MAX_DELAY_MS = 1_000;

test('a reader at another replica sees each check-in, while 64 are in flight', async (context) => {
  await using database = await cloneDatabase();
  await using first = await startUsher(database.url);
  await using second = await startUsher(database.url);
  const tenant = await createTenant(first, { messageFeed: true });
  const { events } = clientsOf(first, tenant);
  await events.createEvent({ eventId: 'fest' });
  const seenAt = new Map<string, number>();
  const read = async () => {
    for await (const { messages } of watch(second.url, tenant.apiKey, { cursor: 'oldest' }))
      for (const { data } of messages) if (data?.attendeeId) seenAt.set(String(data.attendeeId), performance.now());
  };
  read().catch(() => {});
  let next = 0;
  const doneAt = new Map<string, number>();
  const checkIn = async () => {
    const attendeeId = `attendee-${next++}`;
    await events.checkIn({ eventId: 'fest', attendeeId });
    doneAt.set(attendeeId, performance.now());
    return 'ok';
  };
  const load = startLoad({ checkIn }, { callers: IN_FLIGHT });
  await expect.poll(() => doneAt.size).toBeGreaterThan(CHECK_INS);
  const calls = await load.stop();
  await expect.poll(() => seenAt.size).toBe(doneAt.size);
  // A message may come before the answer of its call.
  const delays = [...doneAt].map(([attendeeId, at]) => Math.max(0, Number(seenAt.get(attendeeId)) - at));
  const p99 = delays.sort((a, b) => a - b)[Math.floor(delays.length * 0.99)] ?? Number.NaN;
  report(context, {
    tried: `${calls.length} check-ins, ${IN_FLIGHT} in flight`,
    figures: `seen at another replica ${Math.round(p99)} ms after the answer (p99), which took ${Math.round(quantileOf(calls, 0.99))} ms (p99)`,
  });
  if (quickOrLong(false, true)) expect(p99).toBeLessThan(MAX_DELAY_MS);
});

/** Returns how often each statement of feeds has been run. */
async function countFeedStatements(metrics: { readonly url: string }): Promise<Readonly<Record<string, number>>> {
  const { series } = await scrape(metrics);
  const counts = series.filter(
    ({ name, labels }) =>
      name === 'db_client_operation_duration_seconds_count' && /feed/i.test(labels.db_query_summary ?? ''),
  );
  return Object.fromEntries(counts.map(({ labels, value }) => [labels.db_query_summary, value]));
}

const APPLICATIONS = 10;
const STREAMS = 200;
const HEARTBEATS = 2;

test('200 idle streams cost a statement a second, for all of them', async () => {
  await using service = await startService({ config: MEASURED });
  await using metrics = await openMetrics(service);
  const tenants = await Promise.all(
    Array.from({ length: APPLICATIONS }, () => createTenant(service, { messageFeed: true })),
  );
  const opened = Promise.withResolvers<void>();
  let open = 0;
  const streams = Array.from({ length: STREAMS }, async (_, at) => {
    let responses = 0;
    for await (const _ of watch(service.url, tenants[at % APPLICATIONS]?.apiKey ?? '', { heartbeatSeconds: 5 })) {
      if (responses === 0 && ++open === STREAMS) opened.resolve();
      if (responses++ === HEARTBEATS) return;
    }
  });
  await opened.promise;
  const before = await countFeedStatements(metrics);
  await Promise.all(streams);
  const after = await countFeedStatements(metrics);
  expect(after.selectFeedMessages).toBe(before.selectFeedMessages);
  // Polls, which are slower than heartbeats are many.
  const polls = Number(after.selectFeedEnds) - Number(before.selectFeedEnds);
  expect(polls).toBeGreaterThan(0);
  expect(polls).toBeLessThan(STREAMS);
});

const IDLE_MS = 30_000;
const MAX_SHARE = 0.01;

test.runIf(quickOrLong(false, true))('200 idle streams cost less than 1 % of a core', async (context) => {
  await using database = await cloneDatabase();
  await using usher = await startUsher(database.url);
  const tenants = await Promise.all(
    Array.from({ length: APPLICATIONS }, () => createTenant(usher, { messageFeed: true })),
  );
  const shareOf = async () => {
    const before = cpuSecondsOf(usher.pid);
    await sleep(IDLE_MS);
    return (cpuSecondsOf(usher.pid) - before) / (IDLE_MS / 1_000);
  };
  await sleep(IDLE_MS);
  const alone = await shareOf();
  let open = 0;
  for (let at = 0; at < STREAMS; at++)
    void (async () => {
      for await (const _ of watch(usher.url, tenants[at % APPLICATIONS]?.apiKey ?? '')) open++;
    })().catch(() => {});
  await expect.poll(() => open).toBeGreaterThanOrEqual(STREAMS);
  await sleep(IDLE_MS);
  const withStreams = await shareOf();
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
  report(context, {
    tried: `${STREAMS} idle streams`,
    figures: `${percent(withStreams)} of a core, ${percent(alone)} without them`,
  });
  expect(withStreams - alone).toBeLessThan(MAX_SHARE);
});

/** Returns how much CPU time the process has used. The kernel counts hundredths of a second. */
function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const MESSAGES = 4_000;
/** Together more than all buffers of a connection hold. */
const MESSAGE_BYTES = 10_000;
/** A response has up to 256 KiB. */
const RESPONSES = Math.ceil((MESSAGES * MESSAGE_BYTES) / (256 * 1024));

/** Readers that take bytes only when they are asked for a response. The JavaScript clients of gRPC read ahead. */
const READERS = {
  'the client package': (url: string, apiKey: string) =>
    createUsherClient({ baseUrl: url, apiKey }).messages.watch({ cursor: 'oldest' }),
  'gRPC over HTTP/2': readOverHttp2,
};

async function* readOverHttp2(url: string, apiKey: string): AsyncGenerator<WatchMessagesResponse> {
  const session = connect(url);
  session.on('error', () => {});
  const { parent, name, input, output } = MessageService.method.watchMessages;
  const stream = session.request({
    ...{ ':method': 'POST', ':path': `/${parent.typeName}/${name}`, 'content-type': 'application/grpc' },
    ...{ te: 'trailers', 'x-api-key': apiKey },
  });
  stream.on('error', () => {});
  stream.end(frame(toBinary(input, create(input, { cursor: 'oldest' }))));
  let rest = Buffer.alloc(0);
  try {
    for await (const chunk of stream) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const end = 5 + rest.readUInt32BE(1);
        yield fromBinary(output, rest.subarray(5, end));
        rest = rest.subarray(end);
      }
    }
  } finally {
    session.destroy();
  }
}

test.each(Object.entries(READERS))(
  'a reader that takes nothing over %s makes the service read little, and loses nothing',
  async (_, open) => {
    await using service = await startService({ config: MEASURED });
    await using metrics = await openMetrics(service);
    const tenant = await createTenant(service, { messageFeed: true });
    await fillFeed(service, tenant);
    const countReads = async () => (await countFeedStatements(metrics)).selectFeedMessages ?? 0;
    const slow: AsyncIterator<{ readonly messages: readonly { readonly data?: unknown }[] }> = open(
      service.url,
      tenant.apiKey,
    )[Symbol.asyncIterator]();
    await slow.next();
    // Not longer: a stream that takes nothing for seconds is ended.
    let read = -1;
    for (let now = await countReads(); now !== read; now = await countReads()) {
      read = now;
      await sleep(300);
    }
    expect(read).toBeLessThan(RESPONSES / 2);
    const numbers = Array.from({ length: MESSAGES }, (_, at) => at + 1);
    expect(await readNumbers(slow)).toEqual(numbers);
    expect(await countReads()).toBeGreaterThanOrEqual(RESPONSES);
    await slow.return?.();
  },
);

/** Reads until all messages have come. */
async function readNumbers(responses: AsyncIterator<{ readonly messages: readonly { readonly data?: unknown }[] }>) {
  const numbers: number[] = [];
  while (numbers.length < MESSAGES) {
    const { value } = await responses.next();
    for (const { data } of value.messages) numbers.push((data as { n: number }).n);
  }
  return numbers;
}

/** Gives the feed messages with numbers. */
async function fillFeed({ database: { sql } }: { database: Pick<TestDatabase, 'sql'> }, { id }: { id: string }) {
  await sql`
    with given as (
      insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
      select ${id}, 'event.created', json_build_object('type', 'event.created', 'timestamp', now(),
        'data', json_build_object('n', n, 'name', repeat('x', ${MESSAGE_BYTES}::int)))::text, now(), null
      from generate_series(1, ${MESSAGES}::int) n returning id
    ), placed as (
      insert into feed_positions (application_id, position, message_id, created_at)
      select ${id}, row_number() over (order by id), id, now() from given
    )
    update message_feeds set next_position = ${MESSAGES} + 1 where application_id = ${id}`;
}

/** An application has 20 streams, of which two read everything. */
const SLOW_READERS = 18;
const MAX_GROWTH_BYTES = 40 * 1024 * 1024;

test.runIf(quickOrLong(false, true))('readers that take nothing cost little memory', async (context) => {
  await using database = await cloneDatabase();
  await using usher = await startUsher(database.url);
  const tenant = await createTenant(usher, { messageFeed: true });
  await fillFeed({ database }, tenant);
  await readNumbers(watch(usher.url, tenant.apiKey, { cursor: 'oldest' })[Symbol.asyncIterator]());
  const before = usher.residentBytes();
  const slow = Array.from({ length: SLOW_READERS }, () => readOverHttp2(usher.url, tenant.apiKey));
  await Promise.all(slow.map((responses) => responses.next()));
  await readNumbers(watch(usher.url, tenant.apiKey, { cursor: 'oldest' })[Symbol.asyncIterator]());
  const growth = usher.residentBytes() - before;
  report(context, {
    tried: `${SLOW_READERS} readers that take nothing of ${(MESSAGES * MESSAGE_BYTES) / 1e6} MB`,
    figures: `memory ${(growth / 1024 / 1024).toFixed(1)} MB`,
  });
  await Promise.all(slow.map((responses) => responses.return(undefined)));
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
});
