/** `client.messages.watch()`: what it gives out, when it connects again, and when it gives up. */
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { type WatchMessagesResponse, WatchMessagesResponseSchema } from '../../../gen/usher/v1/message_pb.ts';
import { followMessages } from '../../../src/client/follow-messages.ts';
import { createUsherClient, reasonOf, type UsherClient } from '../../../src/client/usher-client.ts';
import { TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { adminClient, createTenant, startTestService } from '../../support/service.ts';

const service = await startTestService({ config: { webhookDelivery: true } });
afterAll(() => service.close());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Creates an application with a feed. */
async function openFeed({ baseUrl = service.url, messageFeed = true } = {}) {
  const tenant = await createTenant(service, { messageFeed });
  const direct = createUsherClient({ baseUrl: service.url, apiKey: tenant.apiKey });
  return { ...tenant, client: createUsherClient({ baseUrl, apiKey: tenant.apiKey }), direct };
}

/** Resolves with the error of a watch, or with undefined if it ends without one. */
async function endOf(client: UsherClient, options: Parameters<UsherClient['messages']['watch']>[0]): Promise<unknown> {
  try {
    for await (const _ of client.messages.watch(options));
    return undefined;
  } catch (error) {
    return error;
  }
}

test('a watch gives out each message in order, also if its connections break', async () => {
  await using proxy = await TcpProxy.open(`postgres://usher@127.0.0.1:${service.port}/usher`);
  const { client, direct } = await openFeed({ baseUrl: proxy.through(service.url) });
  const leaving = new AbortController();
  const onRetry = vi.fn();
  const seen: string[] = [];
  const read = async () => {
    for await (const { messages } of client.messages.watch({ cursor: 'oldest', signal: leaving.signal, onRetry }))
      for (const message of messages) if (message.type === 'event.created') seen.push(message.data.eventId);
  };
  const reading = read();
  const created: string[] = [];
  for (const mode of ['reset', 'close', 'refuse', 'pass'] as const) {
    for (let at = 0; at < 5; at++) {
      const eventId = `event-${created.length}`;
      created.push(eventId);
      await direct.events.createEvent({ eventId });
    }
    await expect.poll(() => seen).toEqual(created);
    const before = onRetry.mock.calls.length;
    await proxy.setMode(mode);
    if (mode !== 'pass') await expect.poll(() => onRetry.mock.calls.length).toBeGreaterThan(before);
    await proxy.setMode('pass');
  }
  leaving.abort();
  await reading;
});

test('a watch takes the cursor and the types of its caller, and ends when the loop does', async () => {
  const { client } = await openFeed();
  await client.events.createEvent({ eventId: 'fest' });
  await client.events.checkIn({ eventId: 'fest', attendeeId: 'ada' });
  const next = async (options: Parameters<UsherClient['messages']['watch']>[0]) => {
    // An application may have 20 streams at a time, and Usher may notice a little later that one has ended.
    const onRetry = vi.fn(() => expect(onRetry.mock.calls.length).toBeLessThan(6));
    for await (const found of client.messages.watch({ ...options, onRetry }))
      if (found.messages.length > 0) return found;
    throw new Error('The watch has ended');
  };
  const first = await next({ cursor: 'oldest', eventTypes: ['check_in.created'] });
  expect(first.messages).toMatchObject([{ type: 'check_in.created', data: { attendeeId: 'ada' } }]);
  const later = next({ cursor: first.cursor });
  await client.events.deleteEvent({ eventId: 'fest' });
  expect((await later).messages).toMatchObject([{ type: 'event.deleted' }]);
  for (let at = 0; at < 30; at++) await next({ cursor: 'oldest' });
});

test.each([
  ['INVALID_API_KEY', async () => [createUsherClient({ baseUrl: service.url, apiKey: 'usk_' }), {}] as const],
  ['MESSAGE_FEED_OFF', async () => [(await openFeed({ messageFeed: false })).client, {}] as const],
  ['CURSOR_EXPIRED', async () => [(await openFeed()).client, { cursor: 'altered' }] as const],
  [
    'VALIDATION_FAILED',
    async () => [(await openFeed()).client, { eventTypes: ['unknown' as 'user.created'] }] as const,
  ],
])('a watch gives up at %s', async (reason, prepare) => {
  const [client, options] = await prepare();
  const error = await endOf(client, options);
  expect(reasonOf(error)).toBe(reason);
  // With what to do about it, once.
  expect(String(error).split(': ')).toHaveLength(3);
});

test('a watch gives up when its key is revoked', async () => {
  const { client, apiKeyId } = await openFeed();
  let isOpen = false;
  const ending = (async () => {
    for await (const _ of client.messages.watch()) isOpen = true;
  })().catch(reasonOf);
  await expect.poll(() => isOpen).toBe(true);
  await adminClient(service).revokeApiKey({ apiKeyId });
  expect(await ending).toBe('INVALID_API_KEY');
});

test('a watch gives up if another server answers, and tries again if none does', async () => {
  const { client } = await openFeed({ baseUrl: `${service.url}/elsewhere` });
  expect(await endOf(client, {})).toMatchObject({
    message: expect.stringContaining('baseUrl leads to another server'),
  });
  const leaving = new AbortController();
  const onRetry = vi.fn(() => leaving.abort());
  const nobody = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
  expect(await endOf(nobody, { signal: leaving.signal, onRetry })).toBeUndefined();
  expect(onRetry).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ status: 503 }));
});

test('a watch whose signal is aborted ends without an error, whatever it waits for', async () => {
  const { client } = await openFeed();
  expect(await endOf(client, { signal: AbortSignal.abort() })).toBeUndefined();
  const leaving = new AbortController();
  let responses = 0;
  for await (const _ of client.messages.watch({ cursor: 'oldest', signal: leaving.signal })) {
    responses++;
    leaving.abort();
  }
  expect(responses).toBe(1);
});

/** What a stream does: it gives out a cursor, fails, stays silent, or ends. */
type Step = string | ConnectError | 'silence';

/** Streams that do these things in order. */
function scriptStreams(...streams: readonly (readonly Step[])[]) {
  const cursors: (string | undefined)[] = [];
  async function* watchMessages(
    { cursor }: { cursor?: string },
    { signal }: { signal?: AbortSignal } = {},
  ): AsyncIterable<WatchMessagesResponse> {
    cursors.push(cursor);
    for (const step of streams[cursors.length - 1] ?? [new ConnectError('Over', Code.Unauthenticated)]) {
      if (step instanceof ConnectError) throw step;
      if (step !== 'silence') yield create(WatchMessagesResponseSchema, { cursor: step });
      else await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    }
  }
  return { cursors, client: { watchMessages } };
}

const LOST = new ConnectError('Lost', Code.Unavailable);

async function readAll(found: AsyncIterable<{ readonly cursor: string }>): Promise<readonly string[]> {
  const cursors: string[] = [];
  try {
    for await (const { cursor } of found) cursors.push(cursor);
  } catch {}
  return cursors;
}

test('a watch goes on from the last cursor that it gave out, whether its stream fails or ends', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const { cursors, client } = scriptStreams([LOST], ['a', 'b', LOST], [], ['c'], [LOST]);
  expect(await readAll(followMessages(client, { cursor: 'stored' }))).toEqual(['a', 'b', 'c']);
  expect(cursors).toEqual(['stored', 'stored', 'b', 'b', 'c', 'c']);
});

test('a watch connects again if it hears no heartbeat', async () => {
  const { cursors, client } = scriptStreams(['a', 'silence'], ['silence']);
  expect(await readAll(followMessages(client, {}, 20))).toEqual(['a']);
  expect(cursors).toEqual(['', 'a', 'a']);
});

test('a watch waits for a caller that is busy', async () => {
  vi.useFakeTimers();
  const { cursors, client } = scriptStreams(['a', 'b']);
  const found = followMessages(client);
  expect(await found.next()).toMatchObject({ value: { cursor: 'a' } });
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(await found.next()).toMatchObject({ value: { cursor: 'b' } });
  await found.return();
  expect(cursors).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('a watch waits longer after each failure, up to 30 seconds, and anew after a stream that lasted', async () => {
  vi.useFakeTimers();
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const { client } = scriptStreams(...Array.from({ length: 8 }, () => [LOST]), ['silence', LOST], [LOST]);
  const waits: number[] = [];
  let failedAt = 0;
  const onRetry = () => {
    failedAt = Date.now();
  };
  const opened = {
    watchMessages: (...given: Parameters<typeof client.watchMessages>) => {
      if (failedAt > 0) waits.push(Date.now() - failedAt);
      return client.watchMessages(...given);
    },
  };
  const reading = readAll(followMessages(opened, { onRetry }));
  await vi.advanceTimersByTimeAsync(600_000);
  await reading;
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 500, 1_000]);
});
