/** MessageService: the messages of an application, page by page and as a stream. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import { MessageService, type WatchMessagesResponse } from '../../../gen/usher/v1/message_pb.ts';
import { openContractFixture } from '../../contract/contract-fixture.ts';
import { refusal, validationFailed } from '../../support/answers.ts';
import { LAYOUT } from '../../support/database.ts';
import { REPOSITORY } from '../../support/process.ts';
import { adminClient, clientsOf, createTenant, type Tenant } from '../../support/service.ts';
import { countBuffers, StatementExplainer } from '../../support/statement-explainer.ts';

const { listMessages } = MessageService.method;
const { service, tenant, other, callWith } = await openContractFixture({ config: { webhookDelivery: true } });
const FEED_OFF = refusal('already_exists', 'Message feed is off');
const EXPIRED = refusal('already_exists', 'Cursor expired');

/** Creates an application with a feed. */
async function openFeed() {
  const owner = await createTenant(service);
  await adminClient(service).updateApplication({ applicationId: owner.id, messageFeed: true });
  const { events, webhooks } = clientsOf(service, owner);
  const list = (fields = {}) => callWith(listMessages, fields, { 'x-api-key': owner.apiKey });
  return {
    owner,
    events,
    webhooks,
    list,
    read: async (fields = {}) => {
      const { code, data } = await list(fields);
      expect(code).toBe('ok');
      return data as unknown as { messages: { messageId: string; type: string; data: object }[]; cursor: string };
    },
    /** Resolves once the messages are in the feed. */
    settle: async (count: number) => {
      await expect
        .poll(
          async () =>
            (
              await service.database.sql`
          select from feed_positions where application_id = ${owner.id}`
            ).length,
          { timeout: 30_000 },
        )
        .toBe(count);
    },
  };
}

/** Gives the feed of the application more messages, the last of which is of another type than the others. */
async function insertMessages({ id }: Tenant, count: number, { hasType = true, after = 0 } = {}): Promise<void> {
  await service.database.sql`
    with given as (
      insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
      select ${id}, type, json_build_object('type', type, 'timestamp', now(), 'data', json_build_object('n', n))::text, now(), null
      from generate_series(${after + 1}::int, ${after + count}::int) n,
        lateral (values (case n when ${after + count}::int then 'event.deleted' else 'event.created' end)) as of (type)
      returning id, type
    ), placed as (
      insert into feed_positions (application_id, position, message_id, type, created_at)
      select ${id}, ${after}::int + row_number() over (order by id), id, case when ${hasType} then type end, now() from given
    )
    update message_feeds set next_position = ${after + count + 1} where application_id = ${id}`;
}

/** Removes the messages at the places, as an erasure does. */
async function eraseAt({ id }: Tenant, places: number[]): Promise<void> {
  await service.database.sql`
    delete from webhook_messages m using feed_positions p
    where p.application_id = ${id} and p.position = any(${places}) and m.application_id = ${id} and m.id = p.message_id`;
}

/** Returns the messages of the first response that has some, of a watch from the oldest message. */
async function watchFirst({ apiKey }: Tenant, eventTypes: string[]) {
  const client = createClient(MessageService, createConnectTransport({ baseUrl: service.url, httpVersion: '1.1' }));
  for await (const { messages } of client.watchMessages(
    { cursor: 'oldest', eventTypes },
    { headers: { 'x-api-key': apiKey } },
  ))
    if (messages.length > 0) return messages;
  return [];
}

describe('ListMessages', () => {
  it('returns what a webhook would get, oldest first, and goes on after the cursor', async () => {
    const { events, read, settle } = await openFeed();
    await events.createEvent({ eventId: 'fest', name: 'Fest' });
    for (const attendeeId of ['ada', 'grace', 'joan']) await events.checkIn({ eventId: 'fest', attendeeId });
    await settle(4);
    const first = await read({ pageSize: 3 });
    expect(first.messages).toMatchObject([
      { messageId: expect.stringMatching(/^msg_\d+$/), type: 'event.created', data: { eventId: 'fest', name: 'Fest' } },
      { type: 'check_in.created', data: { eventId: 'fest', attendeeId: 'ada' } },
      { data: { attendeeId: 'grace' } },
    ]);
    const second = await read({ cursor: first.cursor });
    expect(second.messages).toMatchObject([{ data: { attendeeId: 'joan' } }]);
    expect((await read({ cursor: second.cursor })).messages).toEqual([]);
    await events.deleteEvent({ eventId: 'fest' });
    await settle(5);
    expect((await read({ cursor: second.cursor })).messages).toMatchObject([{ type: 'event.deleted' }]);
    expect((await read({ cursor: 'oldest' })).messages).toHaveLength(5);
  });

  it('returns only the types that the caller wants, and moves the cursor past the others', async () => {
    const { events, read, settle } = await openFeed();
    await events.createEvent({ eventId: 'fest' });
    for (let at = 0; at < 130; at++) await events.checkIn({ eventId: 'fest', attendeeId: `a${at}` });
    await events.deleteEvent({ eventId: 'fest' });
    await settle(132);
    const wanted = { eventTypes: ['event.created', 'event.deleted'] };
    const first = await read({ ...wanted, pageSize: 1 });
    expect(first.messages).toMatchObject([{ type: 'event.created' }]);
    expect((await read({ ...wanted, cursor: first.cursor })).messages).toMatchObject([{ type: 'event.deleted' }]);
  });

  it('gives a feed no deliveries, and webhooks theirs beside it', async () => {
    const { owner, events, settle } = await openFeed();
    await events.createEvent({ eventId: 'fest' });
    await settle(1);
    expect(
      await service.database.sql`
      select from webhook_deliveries where application_id = ${owner.id}`,
    ).toHaveLength(0);
  });

  it('is refused while the feed is off, and with cursors from before', async () => {
    expect(await callWith(listMessages, {})).toEqual(FEED_OFF);
    const { owner, list, read } = await openFeed();
    const { cursor } = await read();
    const turn = (messageFeed: boolean) =>
      callWith(AdminService.method.updateApplication, { applicationId: owner.id, messageFeed });
    await turn(false);
    expect(await list({ cursor })).toEqual(FEED_OFF);
    await turn(true);
    expect(await list({ cursor })).toEqual(EXPIRED);
    await turn(true);
    const again = await read();
    await turn(true);
    expect(await list({ cursor: again.cursor })).toMatchObject({ code: 'ok' });
  });

  it('refuses a cursor of another application, one that was altered, one before the oldest message, and a new epoch', async () => {
    const { owner, events, list, read, settle } = await openFeed();
    const { cursor } = await read();
    const another = await openFeed();
    // The epochs differ, unless an operator gives all the same.
    const { sql } = service.database;
    const [feed] = await sql`select epoch from message_feeds where application_id = ${owner.id}`;
    await sql`update message_feeds set epoch = ${feed?.epoch} where application_id = ${another.owner.id}`;
    expect(await another.list({ cursor })).toEqual(EXPIRED);
    expect(await list({ cursor: `${cursor}x` })).toEqual(EXPIRED);
    expect(await list({ eventTypes: ['unknown'] })).toEqual(validationFailed('eventTypes'));
    for (const eventId of ['a', 'b']) await events.createEvent({ eventId });
    await settle(2);
    await sql`delete from feed_positions where application_id = ${owner.id} and position = 1`;
    expect(await list({ cursor })).toEqual(EXPIRED);
    expect((await read({ cursor: 'oldest' })).messages).toHaveLength(1);
  });

  it('skips no message that commits after later ones', async () => {
    const { owner, events, read, settle } = await openFeed();
    const { sql } = service.database;
    const { cursor } = await sql.begin(async (transaction) => {
      // It has the lower ID.
      const payload = JSON.stringify({ type: 'event.created', timestamp: new Date(), data: { eventId: 'first' } });
      await transaction`
        insert into webhook_messages (application_id, type, payload, created_at)
        values (${owner.id}, 'event.created', ${payload}, now())`;
      await events.createEvent({ eventId: 'second' });
      await settle(1);
      const seen = await read();
      expect(seen.messages).toMatchObject([{ data: { eventId: 'second' } }]);
      return seen;
    });
    await settle(2);
    expect((await read({ cursor })).messages).toMatchObject([{ data: { eventId: 'first' } }]);
  });

  // Citus shows no plan of a shard that could be counted.
  it.skipIf(LAYOUT === 'distributed')(
    'passes tens of thousands of messages of other types in one call that reads a few pages',
    async () => {
      const { owner, read } = await openFeed();
      await insertMessages(owner, 30_000);
      await service.database.sql`vacuum analyze`;
      using explainer = new StatementExplainer(service.database, {
        options: 'analyze, buffers, format json',
        modes: ['force_custom_plan'],
      });
      const found = await read({ eventTypes: ['event.deleted'] });
      expect(found.messages).toMatchObject([{ data: { n: 30_000 } }]);
      const buffers = explainer.explained.map(({ plans }) => countBuffers(plans.force_custom_plan));
      expect(Math.max(...buffers)).toBeLessThan(100);
      expect((await read({ eventTypes: ['event.deleted'], cursor: found.cursor })).messages).toEqual([]);
    },
  );

  it('passes the places of erased users in one call', async () => {
    const { owner, read } = await openFeed();
    await insertMessages(owner, 500);
    await service.database.sql`
      delete from webhook_messages where application_id = ${owner.id} and type = 'event.created'`;
    for (const eventTypes of [[], ['event.created', 'event.deleted']])
      expect((await read({ eventTypes })).messages).toMatchObject([{ data: { n: 500 } }]);
  });

  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

  /** Reads to the end, and returns what each page has. */
  async function readAll({ read }: Pick<Awaited<ReturnType<typeof openFeed>>, 'read'>, fields: object) {
    const pages: number[][] = [];
    let cursor: string | undefined;
    do {
      const page = await read({ ...fields, ...(cursor && { cursor }) });
      pages.push(page.messages.map(({ data }) => (data as { n: number }).n));
      cursor = page.cursor;
    } while (pages.at(-1)?.length !== 0 && pages.length < 500);
    return pages.slice(0, -1);
  }

  it.each<[string, erased: number[], fields: { pageSize: number; eventTypes?: string[] }, pages: number[][]]>([
    [
      'single places',
      [2, 4, 7],
      { pageSize: 3 },
      [
        [1, 3, 5],
        [6, 8, 9],
        [10, ...range(11, 12)],
      ],
    ],
    [
      'the last place of a page',
      [3],
      { pageSize: 3 },
      [
        [1, 2, 4],
        [5, 6, 7],
        [8, 9, 10],
        [11, 12],
      ],
    ],
    ['the first place', [1], { pageSize: 6 }, [range(2, 7), range(8, 12)]],
    ['all but the last place', range(1, 11), { pageSize: 6 }, [[12]]],
    ['all but the first place', range(2, 12), { pageSize: 6 }, [[1]]],
    [
      'single places, by type',
      [2, 4, 7],
      { pageSize: 3, eventTypes: ['event.created', 'event.deleted'] },
      [
        [1, 3, 5],
        [6, 8, 9],
        [10, 11, 12],
      ],
    ],
    ['single places, by another type', [2, 4], { pageSize: 3, eventTypes: ['event.deleted'] }, [[12]]],
  ])('returns each message once, in order, where those of erased users had %s', async (_, erased, fields, pages) => {
    const feed = await openFeed();
    await insertMessages(feed.owner, 12);
    await eraseAt(feed.owner, erased);
    expect(await readAll(feed, fields)).toEqual(pages);
  });

  it.each<[string, fields: { pageSize: number; eventTypes?: string[] }, hasType: boolean]>([
    ['of any type', { pageSize: 100 }, true],
    ['of two types', { pageSize: 100, eventTypes: ['event.created', 'event.deleted'] }, true],
    [
      'of two types, some of which no place names',
      { pageSize: 100, eventTypes: ['event.created', 'event.deleted'] },
      false,
    ],
    ['of any type, a few a page', { pageSize: 30 }, true],
  ])('returns each message once, in order, behind more gaps than it reads at once: %s', async (_, fields, hasType) => {
    const feed = await openFeed();
    const gaps = [...range(5, 190), ...range(250, 299), ...range(350, 460), ...range(505, 598)];
    await insertMessages(feed.owner, 300);
    await insertMessages(feed.owner, 300, { after: 300, hasType });
    await eraseAt(feed.owner, gaps);
    const pages = await readAll(feed, fields);
    expect(pages.flat()).toEqual(range(1, 600).filter((n) => !gaps.includes(n)));
    expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(fields.pageSize);
  });

  it('ends a page before its messages are too large, but not before the first', async () => {
    const feed = await openFeed();
    await insertMessages(feed.owner, 6);
    const grow = (n: number, length: number) => service.database.sql`
      update webhook_messages set payload = rpad(payload, ${length}, ' ')
      where application_id = ${feed.owner.id} and payload::json -> 'data' ->> 'n' = ${String(n)}`;
    for (const [n, length] of [
      [1, 300_000],
      [2, 131_072],
      [3, 131_072],
      [4, 1],
      [5, 262_144],
    ] as const)
      if (length > 1) await grow(n, length);
    expect(await readAll(feed, { pageSize: 100 })).toEqual([[1], [2, 3], [4], [5], [6]]);
  });

  it.each<[string, epoch: boolean, end: number, expected: object]>([
    ['another epoch', true, 2, EXPIRED],
    ['a place behind the end', false, 1, EXPIRED],
    ['the end', false, 2, { code: 'ok' }],
  ])('judges a cursor of %s', async (_, isOther, end, expected) => {
    const feed = await openFeed();
    await insertMessages(feed.owner, 2);
    const { cursor } = await feed.read();
    const { sql } = service.database;
    if (isOther) await sql`update message_feeds set epoch = ${randomUUID()} where application_id = ${feed.owner.id}`;
    await sql`update message_feeds set next_position = ${end + 1} where application_id = ${feed.owner.id}`;
    expect(await feed.list({ cursor })).toMatchObject(expected);
  });

  it('passes some thousand messages a call whose places have no type, each page with a cursor', async () => {
    const { owner, read } = await openFeed();
    await insertMessages(owner, 5_000, { hasType: false });
    await insertMessages(owner, 1, { after: 5_000 });
    const types = { eventTypes: ['event.deleted'] };
    const pages = [await read(types)];
    while (pages.at(-1)?.messages.length !== 2 && pages.length < 10)
      pages.push(await read({ ...types, cursor: pages.at(-1)?.cursor }));
    expect(pages.map(({ messages }) => messages.map(({ data }) => data))).toEqual([
      [],
      [],
      [{ n: 5_000 }, { n: 5_001 }],
    ]);
    expect(await watchFirst(owner, types.eventTypes)).toMatchObject([{ data: { n: 5_000 } }, { data: { n: 5_001 } }]);
  });

  it('refuses a cursor from after the dump, once the operator has restored it as documented', async () => {
    const { owner, events, list, read, settle } = await openFeed();
    for (const eventId of ['a', 'b']) await events.createEvent({ eventId });
    await settle(2);
    const { cursor } = await read();
    const manual = await readFile(join(REPOSITORY, 'src/OPERATIONS.md'), 'utf8');
    const [, statement = ''] = /psql .*"\$RESTORED_URL" -c '(.*)'/.exec(manual) ?? [];
    const { sql } = service.database;
    // As if the dump had been made before the second event.
    await sql`delete from feed_positions where application_id = ${owner.id} and position = 2`;
    await sql`update message_feeds set next_position = 2 where application_id = ${owner.id}`;
    await sql.unsafe(statement);
    // The second position has another message now.
    await events.createEvent({ eventId: 'c' });
    await settle(2);
    expect(await list({ cursor })).toEqual(EXPIRED);
    expect((await read({ cursor: 'oldest' })).messages).toMatchObject([
      { data: { eventId: 'a' } },
      { data: { eventId: 'c' } },
    ]);
  });

  it('works for an application that was created with a feed', async () => {
    const { application, apiKey } = await adminClient(service).createApplication({
      name: 'Fed',
      redirectUris: ['https://app.test/callback'],
      messageFeed: true,
    });
    expect(application?.messageFeed).toBe(true);
    expect(await callWith(listMessages, {}, { 'x-api-key': apiKey })).toMatchObject({ code: 'ok' });
  });
});

const TRANSPORTS: [string, (url: string) => Transport][] = [
  ['gRPC', (baseUrl) => createGrpcTransport({ baseUrl })],
  ['gRPC-Web', (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' })],
  ['Connect over HTTP/1.1', (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '1.1' })],
  ['Connect over HTTP/2', (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' })],
];

describe.each(TRANSPORTS)('WatchMessages over %s', (_, open) => {
  const client = createClient(MessageService, open(service.url));

  /** Watches until the caller is done with it. */
  function watch({ apiKey }: Pick<Tenant, 'apiKey'>, fields: object = {}) {
    const leaving = new AbortController();
    const stream = client.watchMessages(fields, { headers: { 'x-api-key': apiKey }, signal: leaving.signal });
    const responses = stream[Symbol.asyncIterator]();
    return {
      next: async (): Promise<WatchMessagesResponse> => (await responses.next()).value,
      [Symbol.dispose]: () => leaving.abort(),
    };
  }

  const codeOf = (error: unknown) => ConnectError.from(error).code;

  it('sends a cursor at once, and then each new message', async () => {
    const { owner, events } = await openFeed();
    using stream = watch(owner);
    const first = await stream.next();
    expect(first.messages).toEqual([]);
    await events.createEvent({ eventId: 'fest' });
    const second = await stream.next();
    expect(second.messages.map(({ type, data }) => [type, data])).toMatchObject([
      ['event.created', { eventId: 'fest' }],
    ]);
    await events.checkIn({ eventId: 'fest', attendeeId: 'ada' });
    expect((await stream.next()).messages).toMatchObject([{ type: 'check_in.created' }]);
    using again = watch(owner, { cursor: first.cursor });
    await again.next();
    expect((await again.next()).messages.map(({ type }) => type)).toEqual(['event.created', 'check_in.created']);
  });

  it('refuses a caller without a valid key, one whose feed is off, and one with too many streams', async () => {
    await expect(watch({ apiKey: 'usk_' }).next()).rejects.toSatisfy((error) => codeOf(error) === Code.Unauthenticated);
    await expect(watch(tenant).next()).rejects.toSatisfy((error) => codeOf(error) === Code.FailedPrecondition);
    const { owner } = await openFeed();
    const streams = Array.from({ length: 20 }, () => watch(owner));
    await Promise.all(streams.map((stream) => stream.next()));
    using one = watch(owner);
    await expect(one.next()).rejects.toSatisfy((error) => codeOf(error) === Code.ResourceExhausted);
    for (const stream of streams) stream[Symbol.dispose]();
    await expect
      .poll(
        () =>
          watch(owner)
            .next()
            .then(
              () => 'open',
              () => 'refused',
            ),
        { timeout: 30_000 },
      )
      .toBe('open');
  });
});

it('a watch ends when its key is revoked, and moves its cursor while nothing happens', async () => {
  const { owner } = await openFeed();
  const client = createClient(MessageService, createGrpcTransport({ baseUrl: service.url }));
  const stream = client.watchMessages({ heartbeatSeconds: 5 }, { headers: { 'x-api-key': owner.apiKey } });
  const responses = stream[Symbol.asyncIterator]();
  const first = await responses.next();
  const heartbeat = await responses.next();
  expect(heartbeat.value.messages).toEqual([]);
  expect(heartbeat.value.cursor).not.toBe(first.value.cursor);
  await adminClient(service).revokeApiKey({ apiKeyId: owner.apiKeyId });
  const end = async () => {
    for (;;) if ((await responses.next()).done) return;
  };
  await expect(end()).rejects.toSatisfy((error) => ConnectError.from(error).code === Code.Unauthenticated);
}, 60_000);

it('another application sees none of the messages', async () => {
  await adminClient(service).updateApplication({ applicationId: other.id, messageFeed: true });
  const { events, settle } = await openFeed();
  await events.createEvent({ eventId: 'secret' });
  await settle(1);
  const { data } = await callWith(listMessages, {}, { 'x-api-key': other.apiKey });
  expect(data).toMatchObject({ messages: [] });
});
