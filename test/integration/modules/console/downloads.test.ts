/** Downloads that fail midway: nobody takes a part for the whole. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TcpProxy } from '../../../../src/testing/tcp-proxy.ts';
import { type ConsoleBrowser, ConsoleFixture, OPERATORS } from '../../../support/console-fixture.ts';
import { cloneDatabase, type TestDatabase } from '../../../support/database.ts';

/** 25 MB as CSV: more than the buffers between the processes take. */
const EVENTS = 40_000;

let database: TestDatabase;
let proxy: TcpProxy;
let fixture: ConsoleFixture;
let browser: ConsoleBrowser;

beforeAll(async () => {
  database = await cloneDatabase();
  proxy = await TcpProxy.open(database.url);
  const config = { databaseUrl: proxy.through(database.url), requestTimeoutMs: 3_000 };
  fixture = await ConsoleFixture.open({ database, config });
  browser = await fixture.signIn(OPERATORS.viewer);
  await database.sql`
    insert into audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    select gen_random_uuid(), now() - n * interval '1 second', gen_random_uuid(), 'api_key', repeat('a', 250),
      'EventService/CreateEvent', repeat('r', 250), '', '' from generate_series(1, ${EVENTS}) n`;
});

afterAll(async () => {
  await fixture?.close();
  await proxy?.[Symbol.asyncDispose]();
  await database?.[Symbol.asyncDispose]();
});

const headers = () => ({
  cookie: [...browser.cookies].map((pair) => pair.join('=')).join('; '),
  'sec-fetch-site': 'same-origin',
});
const address = () => fixture.url.replace('localhost', '127.0.0.1');

/** Takes the beginning, and what comes after Postgres has gone. Returns the size, and how it ended. */
async function download(path: string, breakPostgres: () => Promise<void>) {
  const [reply] = (await once(get(`${address()}${path}`, { headers: headers() }), 'response')) as [IncomingMessage];
  const ended = new Promise<Error | undefined>((resolve) => {
    reply.on('error', resolve).on('end', () => resolve(undefined));
  });
  let size = 0;
  const add = (chunk: Buffer) => {
    size += chunk.length;
  };
  await once(reply.once('data', add), 'data');
  reply.pause();
  await breakPostgres();
  reply.on('data', add).resume();
  const error = await ended;
  return { status: reply.statusCode, size, error, isComplete: reply.complete };
}

describe.each(['/audit.csv', '/audit.jsonl'])('%s', (path) => {
  test.each(['reset', 'freeze'] as const)(
    'is cut off where Postgres is gone by %s, and works again later',
    async (mode) => {
      const { status, size, error, isComplete } = await download(path, () => proxy.setMode(mode));
      expect({ status, isComplete, code: (error as NodeJS.ErrnoException)?.code }).toEqual({
        status: 200,
        isComplete: false,
        code: 'ECONNRESET',
      });
      expect(size).toBeGreaterThan(0);
      await proxy.setMode('pass');
      // Two downloads at a time would be all: none of those that failed counts any more.
      await expect.poll(async () => (await browser.open(`${path}?actor=nobody`)).status, { timeout: 60_000 }).toBe(200);
    },
  );

  test('is cut off over HTTP/2, too', async () => {
    const session = connectHttp2(address());
    const stream = session.request({ ':path': path, ...headers() });
    const ended = new Promise<unknown>((resolve) => {
      stream.on('error', resolve).on('end', () => resolve('complete'));
    });
    await once(
      stream.once('data', () => {}),
      'data',
    );
    stream.pause();
    await proxy.setMode('reset');
    stream.resume();
    expect(await ended).toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR' });
    session.close();
    await proxy.setMode('pass');
    await expect.poll(async () => (await browser.open(`${path}?actor=nobody`)).status, { timeout: 60_000 }).toBe(200);
  });

  test('has every event where nothing fails', async () => {
    const { error, isComplete, size } = await download(path, async () => {});
    expect({ error, isComplete }).toEqual({ error: undefined, isComplete: true });
    expect(size).toBeGreaterThan(EVENTS * 500);
  });
});
