import { once } from 'node:events';
import { connect, createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { replaceStreamMap, StreamMap } from '../../src/http/stream-map.ts';

test('keeps the streams that have not been deleted', () => {
  const streams = new StreamMap();
  streams.set(1, 'one');
  streams.set(3, 'three');
  streams.set(2 ** 31 - 1, 'last');
  streams.set(3, 'three again');
  expect(streams.delete(1)).toBe(true);
  expect(streams.delete(1)).toBe(false);
  const visited: unknown[] = [];
  streams.forEach((stream) => void visited.push(stream));
  expect(visited).toEqual(['three again', 'last']);
  expect(streams.size).toBe(2);
  expect([1, 3, 5].map((id) => streams.get(id))).toEqual([undefined, 'three again', undefined]);
});

test('takes the place of the one of this version of Node, and does what that did', async () => {
  const server = createServer();
  let isReplaced = false;
  server.on('session', (session: ServerHttp2Session) => {
    isReplaced = replaceStreamMap(session);
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    if (headers[':path'] !== '/never') stream.respond({ ':status': 204 }, { endStream: true });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const ask = (path: string) => client.request({ ':path': path });

  for (let asked = 0; asked < 100; asked++) {
    const stream = ask('/');
    const [headers] = await once(stream.resume(), 'response');
    expect(headers[':status']).toBe(204);
    await once(stream, 'close');
  }
  expect(isReplaced).toBe(true);

  // Destroying the session reaches the streams that it has.
  const pending = ask('/never');
  pending.on('error', () => {});
  server.once('stream', (stream) => stream.session?.destroy());
  await once(pending, 'close');
  server.close();
  await once(server, 'close');
});

test('is not put in the place of one that has streams, or of nothing', () => {
  const symbol = Symbol('state');
  const sessionWith = (state: unknown) => ({ [symbol]: state }) as unknown as ServerHttp2Session;
  const taken = { streams: new Map([[1, 'one']]) };
  const states = [undefined, null, 1, {}, { streams: undefined }, { streams: {} }, taken];
  expect(states.map((state) => replaceStreamMap(sessionWith(state)))).toEqual(states.map(() => false));
  expect(taken.streams.get(1)).toBe('one');
  expect(replaceStreamMap({} as ServerHttp2Session)).toBe(false);
});
