/** Where Usher fetches metadata of clients, how much of it, and how often. */
import { createHook } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ClientRequest, ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ClientDocuments } from '../../../../src/modules/oidc/clients/client-documents.ts';
import { matchHost, parseClientHosts } from '../../../../src/modules/oidc/clients/client-hosts.ts';
import { createFetchDocument } from '../../../../src/modules/oidc/clients/fetch-document.ts';
import { CLIENT_HOSTS, startClientServers } from '../../../support/client-metadata.ts';
import { MINUTE, SECOND } from '../../../support/clock.ts';
import { FORBIDDEN_ADDRESSES, FORBIDDEN_SPELLINGS, FORBIDDEN_URLS } from '../../../support/forbidden-targets.ts';

const clients = await startClientServers();
afterAll(() => clients[Symbol.asyncDispose]());
const fetchByProxy = createFetchDocument({ allowedNetworks: [], proxyUrl: clients.proxyUrl });
afterAll(() => fetchByProxy.close());

const DOCUMENT = { client_name: 'Assistant', redirect_uris: ['https://assistant.test/callback'] };

/** Serves these bytes as a document of 200 and JSON, but for the changes. */
function serve(
  path: string,
  bytes: (clientId: string) => string | Buffer,
  headers: Record<string, string> = {},
  status = 200,
) {
  const clientId: string = clients.serve(path, (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(bytes(clientId));
  });
  return clientId;
}

const json = (clientId: string, more: object = {}) => JSON.stringify({ client_id: clientId, ...DOCUMENT, ...more });

describe('a document', () => {
  test.each<[string, Record<string, string>]>([
    ['application/json', {}],
    ['a type with parameters', { 'content-type': 'Application/JSON; charset=utf-8' }],
    ['a type that ends with +json', { 'content-type': 'application/cimd+json' }],
  ])('is taken with %s', async (name, headers) => {
    const clientId = serve(`/types/${encodeURIComponent(name)}`, (id) => json(id), headers);
    expect(await fetchByProxy(clientId, 'wildcard')).toMatchObject({ document: { name: 'Assistant' } });
  });

  test.each<[string, Record<string, string>, number]>([
    ['another type', { 'content-type': 'text/html' }, 200],
    ['no type', { 'content-type': '' }, 200],
    ['a redirect', { location: 'https://assistant.test/' }, 302],
    ['another status', {}, 203],
    ['an encoding', { 'content-encoding': 'br' }, 200],
  ])('is refused with %s', async (name, headers, status) => {
    const clientId = serve(`/refused/${encodeURIComponent(name)}`, (id) => json(id), headers, status);
    expect(await fetchByProxy(clientId, 'wildcard')).toBeUndefined();
  });

  test('is refused if it is compressed, no JSON, or no object', async () => {
    const packed = serve('/gzip', (id) => gzipSync(json(id)), { 'content-encoding': 'gzip' });
    const unsaid = serve('/gzip/unsaid', (id) => gzipSync(json(id)));
    for (const clientId of [packed, unsaid, serve('/text', () => '{'), serve('/list', (id) => `[${json(id)}]`)]) {
      expect([clientId, await fetchByProxy(clientId, 'wildcard')]).toEqual([clientId, undefined]);
    }
  });

  test('is asked for without compression', async () => {
    let asked: string | undefined;
    await fetchByProxy(
      clients.serve('/asked', (request, response) => {
        asked = request.headers['accept-encoding'];
        response.end();
      }),
      'wildcard',
    );
    expect(asked).toBe('identity');
  });

  test.each<[string, Record<string, string>]>([
    ['as it is', {}],
    ['as another type', { 'content-type': 'text/html' }],
    ['compressed', { 'content-encoding': 'gzip' }],
  ])('that never ends is read to 16 KiB and one chunk: %s', async (name, headers) => {
    const clientId = clients.serve(`/endless/${name}`.replaceAll(' ', '-'), (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers });
      const write = () => {
        while (!response.destroyed && response.write('[['.repeat(8_192)));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    });
    const sockets: { socket: Socket; before: number }[] = [];
    const onRequest = (message: unknown) => {
      const { request } = message as { request: ClientRequest };
      // The proxy has been asked for a connection by another request.
      if (request.method === 'GET')
        request.on('socket', (socket) => void sockets.push({ socket, before: socket.bytesRead }));
    };
    subscribe('http.client.request.created', onRequest);
    onTestFinished(() => void unsubscribe('http.client.request.created', onRequest));
    expect(await fetchByProxy(clientId, 'wildcard')).toBeUndefined();
    const [taken] = sockets;
    expect(sockets).toHaveLength(1);
    expect(taken?.socket.destroyed).toBe(true);
    // TLS gives 16 KiB at once. The headers are in front.
    expect((taken?.socket.bytesRead ?? Number.NaN) - (taken?.before ?? 0)).toBeLessThanOrEqual(1_024 + 2 * 16_384);
  });

  test('that stops arriving is given up after five seconds, however few bytes still come', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const [begun, closed] = [Promise.withResolvers<ServerResponse>(), Promise.withResolvers<void>()];
    const clientId: string = clients.serve('/slow', (_, response) => {
      response.on('close', closed.resolve).writeHead(200, { 'content-type': 'application/json' }).write(' ');
      begun.resolve(response);
    });
    const fetching = fetchByProxy(clientId, 'wildcard');
    const response = await begun.promise;
    for (let second = 1; second < 5; second++) {
      vi.advanceTimersByTime(SECOND);
      response.write(' ');
    }
    vi.advanceTimersByTime(SECOND);
    response.end(json(clientId));
    expect(await fetching).toBeUndefined();
    await closed.promise;
  });

  test('whose host is not found for five seconds is given up', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const fetchDocument = createFetchDocument({
      allowedNetworks: [],
      proxyUrl: undefined,
      resolve: () => new Promise(() => {}),
    });
    onTestFinished(() => fetchDocument.close());
    const fetching = fetchDocument('https://slow.test/client', 'named');
    vi.advanceTimersByTime(5 * SECOND);
    expect(await fetching).toBeUndefined();
  });

  test('has 16 KiB at most', async () => {
    const sized = (size: number) => (id: string) => {
      const rest = size - Buffer.byteLength(json(id, { note: '' }));
      return json(id, { note: 'a'.repeat(rest) });
    };
    expect(await fetchByProxy(serve('/fits', sized(16_384)), 'wildcard')).toBeDefined();
    expect(await fetchByProxy(serve('/large', sized(16_385)), 'wildcard')).toBeUndefined();
  });

  test.each<[string, Record<string, string>, number]>([
    ['without a header', {}, 5 * MINUTE],
    ['for its maximum age', { 'cache-control': 'public, max-age=3600' }, 60 * MINUTE],
    ['for what is left of it', { 'cache-control': 'max-age=3600', age: '1800' }, 30 * MINUTE],
    ['for five minutes at least', { 'cache-control': 'max-age=1' }, 5 * MINUTE],
    ['for a day at most', { 'cache-control': 'max-age=99999999' }, 24 * 60 * MINUTE],
    ['for this request alone', { 'cache-control': 'max-age=60, no-store' }, 0],
    [
      'until it expires',
      { date: 'Thu, 01 Jan 2026 00:00:00 GMT', expires: 'Thu, 01 Jan 2026 00:10:00 GMT' },
      10 * MINUTE,
    ],
  ])('is kept %s', async (name, headers, keptMs) => {
    const clientId = serve(`/kept/${encodeURIComponent(name)}`, (id) => json(id), headers);
    expect(await fetchByProxy(clientId, 'wildcard')).toMatchObject({ keptMs });
  });
});

const TARGETS = [
  ...FORBIDDEN_ADDRESSES.map((address) => `https://${address.includes(':') ? `[${address}]` : address}/client`),
  ...FORBIDDEN_SPELLINGS.map((host) => `https://${host}/client`),
  ...FORBIDDEN_URLS.map(([url]) => url),
];

/** Counts how often this process tries to connect to any address, whether or not somebody listens there. */
function countConnects(): () => number {
  let count = 0;
  const init = (_: number, type: string) => {
    if (type === 'TCPCONNECTWRAP') count += 1;
  };
  const hook = createHook({ init }).enable();
  onTestFinished(() => void hook.disable());
  return () => count;
}

describe('an internal address', () => {
  async function listen() {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return { port: (server.address() as AddressInfo).port, count: () => connections };
  }

  test('is not connected to, in any of 149 URLs', async () => {
    expect(TARGETS).toHaveLength(149);
    const count = countConnects();
    const fetchDocument = createFetchDocument({ allowedNetworks: [], proxyUrl: undefined });
    onTestFinished(() => fetchDocument.close());
    let now = 0;
    // Each look at the clock is a minute later, so that no limit of fetches refuses what an address must.
    const documents = new ClientDocuments({ hosts: parseClientHosts('*'), fetchDocument, now: () => (now += MINUTE) });
    const reached = [];
    for (const url of TARGETS) {
      const found = await documents.find(url, () => true);
      const fetched = [await fetchDocument(url, 'named'), await fetchDocument(url, 'wildcard')];
      if (!('problem' in found) || found.problem === 'too-many' || fetched.some(Boolean)) reached.push([url, found]);
    }
    expect(reached).toEqual([]);
    expect(count()).toBe(0);
  });

  test('is not connected to where a name leads to it', async () => {
    const count = countConnects();
    const fetched = FORBIDDEN_ADDRESSES.map(async (address) => {
      const resolve = async () => [address];
      const fetchDocument = createFetchDocument({ allowedNetworks: [], proxyUrl: undefined, resolve });
      onTestFinished(() => fetchDocument.close());
      return fetchDocument('https://rebind.test/client', 'named');
    });
    expect((await Promise.all(fetched)).filter(Boolean)).toEqual([]);
    expect(count()).toBe(0);
  });

  test('is not connected to if a later answer of the name has one, or one beside an allowed one', async () => {
    const { port } = await listen();
    const count = countConnects();
    const answers = [['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1', '127.0.0.2']];
    const resolve = async () => answers.shift() ?? expect.fail();
    const fetchDocument = createFetchDocument({ allowedNetworks: ['127.0.0.1/32'], proxyUrl: undefined, resolve });
    onTestFinished(() => fetchDocument.close());
    for (let turn = 0; turn < 3; turn++) await fetchDocument(`https://rebind.test:${port}/c`, 'named');
    expect([answers, count()]).toEqual([[], 1]);
  });

  test('of an allowed network is open to a host that is named, not to a wildcard', async () => {
    const { port, count } = await listen();
    const countTries = countConnects();
    const resolve = async () => ['127.0.0.1'];
    const fetchDocument = createFetchDocument({ allowedNetworks: ['127.0.0.0/8'], proxyUrl: undefined, resolve });
    onTestFinished(() => fetchDocument.close());
    await fetchDocument(`https://inside.test:${port}/client`, 'wildcard');
    expect(count()).toBe(0);
    await fetchDocument(`https://inside.test:${port}/client`, 'named');
    expect([count(), countTries()]).toEqual([1, 1]);
  });
});

test.each([
  ['client.test', 'client.test', 'named'],
  ['client.test', 'a.client.test', undefined],
  ['*.client.test', 'a.b.client.test', 'wildcard'],
  ['*.client.test', 'client.test', undefined],
  ['*.client.test', 'evilclient.test', undefined],
  ['*', 'any.test', 'wildcard'],
  ['*, any.test', 'any.test', 'named'],
])('CLIENT_METADATA_HOSTS=%s allows %s: %s', (text, host, match) => {
  expect(matchHost(parseClientHosts(text) ?? expect.fail(), host)).toBe(match);
});

test.each(['https://client.test', 'client.test/a', '*client.test', 'a.*.test', 'client.test:443', '*.'])(
  'CLIENT_METADATA_HOSTS may not be %s',
  (text) => expect(() => parseClientHosts(text)).toThrow('must be hosts'),
);

describe('fetches', () => {
  const hosts = parseClientHosts(`*.${CLIENT_HOSTS}`);
  const document = { name: 'Assistant', redirectUris: [] };
  const idOf = (host: number, path: number) => `https://c${host}.${CLIENT_HOSTS}/${path}`;

  function open(fetched: { document: typeof document; keptMs: number } | undefined = { document, keptMs: MINUTE }) {
    let [now, count] = [0, 0];
    const documents = new ClientDocuments({
      hosts,
      now: () => now,
      fetchDocument: async () => {
        count += 1;
        return fetched;
      },
    });
    return {
      find: (id: string) => documents.find(id, () => true),
      pass: (ms: number) => (now += ms),
      count: () => count,
    };
  }

  test('are 30 a minute of a host, and 120 in all', async () => {
    const { find, pass } = open();
    const outcomes = [];
    for (let path = 0; path < 31; path++) outcomes.push(await find(idOf(0, path)));
    expect(outcomes.map((found) => 'problem' in found)).toEqual([...Array(30).fill(false), true]);
    for (let path = 0; path < 90; path++) expect(await find(idOf(1 + (path % 9), path))).toEqual({ document });
    expect(await find(idOf(20, 0))).toEqual({ problem: 'too-many' });
    pass(2 * SECOND);
    expect(await find(idOf(20, 0))).toEqual({ document });
  });

  test('are ten at once, and one for a document that many ask for', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    let count = 0;
    const documents = new ClientDocuments({
      hosts,
      fetchDocument: async () => {
        count += 1;
        return promise;
      },
    });
    const first = Array.from({ length: 10 }, (_, path) => documents.find(idOf(path, 0), () => true));
    const again = documents.find(idOf(0, 0), () => true);
    const eleventh = documents.find(idOf(11, 0), () => true);
    resolve(undefined);
    expect(await eleventh).toEqual({ problem: 'too-many' });
    await Promise.all([...first, again]);
    expect(count).toBe(10);
  });

  test('are waited for by 50 requests at once, so that the login page has some left', async () => {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const documents = new ClientDocuments({ hosts, fetchDocument: async () => promise });
    const find = () => documents.find(idOf(0, 0), () => true);
    const waiting = Array.from({ length: 50 }, find);
    const refused = find();
    resolve(undefined);
    expect(await refused).toEqual({ problem: 'too-many' });
    expect(await Promise.all(waiting)).toEqual(Array(50).fill({ problem: 'unavailable' }));
    expect(await find()).toEqual({ problem: 'unavailable' });
  });

  test('come again after a minute if they have failed, and at once without a store', async () => {
    let now = 0;
    const failed = new ClientDocuments({ hosts, now: () => now, fetchDocument: async () => undefined });
    expect(await failed.find(idOf(0, 0), () => true)).toEqual({ problem: 'unavailable' });
    expect(await failed.find(idOf(0, 0), () => false)).toEqual({ problem: 'unavailable' });
    now = MINUTE;
    expect(await failed.find(idOf(0, 0), () => false)).toEqual({ problem: 'too-many' });
    const kept = open({ document, keptMs: MINUTE });
    for (let turn = 0; turn < 3; turn++) await kept.find(idOf(0, 0));
    expect(kept.count()).toBe(1);
    kept.pass(MINUTE);
    await kept.find(idOf(0, 0));
    expect(kept.count()).toBe(2);
    const passing = open({ document, keptMs: 0 });
    for (let turn = 0; turn < 3; turn++) await passing.find(idOf(0, 0));
    expect(passing.count()).toBe(3);
  });

  test('are asked for with a permit of the network', async () => {
    const documents = new ClientDocuments({ hosts, fetchDocument: async () => expect.fail() });
    expect(await documents.find(idOf(0, 0), () => false)).toEqual({ problem: 'too-many' });
  });
});
