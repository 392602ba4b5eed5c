/** `Expect: 100-continue`: the client sends its body only when it is asked for it. */
import { once } from 'node:events';
import { afterAll, describe, expect, test } from 'vitest';
import { openHttp2Session } from '../../support/http2-session.ts';
import { frame } from '../../support/protocols.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { createTenant, startTestService } from '../../support/service.ts';

const service = await startTestService();
const { apiKey } = await createTenant(service);
afterAll(() => service.close());

const BODY = '{"eventId":"expected"}';
const KEY = { 'x-api-key': apiKey };
const JSON_TYPE = { 'content-type': 'application/json' };
const EVENTS = '/api/events';
const RPC = '/usher.v1.EventService/CreateEvent';

/** What the head alone decides. */
const REFUSED: [what: string, status: number, path: string, headers: Record<string, string>][] = [
  ['a wrong API key', 401, EVENTS, { 'x-api-key': 'wrong', ...JSON_TYPE }],
  ['a wrong API key over Connect', 401, RPC, { 'x-api-key': 'wrong', ...JSON_TYPE }],
  ['an unknown path', 404, '/api/nothing', { ...KEY, ...JSON_TYPE }],
  ['another method', 405, '/api/events/expected', { ...KEY, ...JSON_TYPE }],
  ['a body that is too large', 413, EVENTS, { ...KEY, ...JSON_TYPE, 'content-length': '100000' }],
  ['a form', 415, EVENTS, { ...KEY, 'content-type': 'application/x-www-form-urlencoded' }],
  ['another type over Connect', 415, RPC, { ...KEY, 'content-type': 'text/xml' }],
];

describe('over HTTP/1.1', () => {
  const open = async (path: string, headers: Record<string, string>) => {
    const connection = await RawConnection.open(service.port);
    const all = { host: 'localhost', expect: '100-continue', 'content-length': String(BODY.length), ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    connection.send(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    return connection;
  };

  test.each(REFUSED)('refuses %s with %i, and asks for no body', async (_, status, path, headers) => {
    using connection = await open(path, headers);
    expect(await connection.reply()).toMatchObject({ status, headers: { connection: 'close' } });
    await connection.ended();
  });

  test.each([EVENTS, RPC])('asks for the body of an acceptable request to %s once', async (path) => {
    using connection = await open(path, { ...KEY, ...JSON_TYPE });
    expect(await connection.reply()).toMatchObject({ status: 100 });
    connection.send(BODY);
    const { status, headers } = await connection.reply();
    expect([200, 201, 409]).toContain(status);
    expect(headers.connection).toBe('keep-alive');
  });

  test('answers a client that sends its body without waiting', async () => {
    using connection = await open(EVENTS, { ...KEY, ...JSON_TYPE });
    connection.send(BODY);
    expect(await connection.reply()).toMatchObject({ status: 100 });
    expect([201, 409]).toContain((await connection.reply()).status);
  });
});

describe('over HTTP/2', () => {
  /** Resolves to the first head, which may be interim. */
  const ask = async (path: string, headers: Record<string, string>) => {
    const session = openHttp2Session(service.url);
    const stream = session.open({ ':method': 'POST', ':path': path, expect: '100-continue', ...headers });
    stream.on('error', () => {});
    const first = await Promise.race([
      once(stream, 'continue').then(() => 100),
      once(stream, 'response').then(([head]) => head[':status']),
    ]);
    return { first, stream, [Symbol.dispose]: () => session[Symbol.dispose]() };
  };

  test.each(REFUSED)('refuses %s with %i, and asks for no body', async (_, status, path, headers) => {
    using asked = await ask(path, headers);
    expect(asked.first).toBe(status);
  });

  test.each([
    [EVENTS, 'application/json', BODY],
    [RPC, 'application/json', BODY],
    [RPC, 'application/grpc', frame(Buffer.from('\n\bexpected'))],
  ])('asks for the body of an acceptable request to %s of type %s', async (path, type, body) => {
    using asked = await ask(path, { ...KEY, 'content-type': type });
    expect(asked.first).toBe(100);
    asked.stream.end(body);
    const [head] = await once(asked.stream, 'response');
    expect([200, 201, 409]).toContain(head[':status']);
  });
});
