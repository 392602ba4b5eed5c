/** Where Usher fetches metadata of clients, how much of it, and how often. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { ClientDocuments } from '../../../../src/modules/oidc/clients/client-documents.ts';
import { matchHost, parseClientHosts } from '../../../../src/modules/oidc/clients/client-hosts.ts';
import { createFetchDocument } from '../../../../src/modules/oidc/clients/fetch-document.ts';
import { CLIENT_HOSTS, startClientServers } from '../../../support/client-metadata.ts';
import { MINUTE, SECOND } from '../../../support/clock.ts';

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

  test('is refused if it is compressed, endless, no JSON, or no object', async () => {
    const packed = serve('/gzip', (id) => gzipSync(json(id)), { 'content-encoding': 'gzip' });
    const endless = clients.serve('/endless', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const write = () => {
        while (!response.destroyed && response.write('[['.repeat(8_192)));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    });
    for (const clientId of [packed, endless, serve('/text', () => '{'), serve('/list', (id) => `[${json(id)}]`)]) {
      expect([clientId, await fetchByProxy(clientId, 'wildcard')]).toEqual([clientId, undefined]);
    }
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

/** Every address below resolves to itself. None may be connected to. */
const INTERNAL = [
  ...['0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '127.255.255.255', '168.63.129.16', '169.254.169.254'],
  ...['172.16.0.1', '192.0.0.1', '192.168.1.1', '198.18.0.1', '224.0.0.1', '255.255.255.255', '::', '::1'],
  ...['::ffff:127.0.0.1', '64:ff9b::7f00:1', 'fc00::1', 'fe80::1', 'fd00:ec2::254', '2002:7f00:1::', '::5efe:7f00:1'],
];

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

  test.each(INTERNAL)('is not connected to, however a name leads to it: %s', async (address) => {
    const { port, count } = await listen();
    const fetchDocument = createFetchDocument({
      allowedNetworks: [],
      proxyUrl: undefined,
      resolve: async () => [address],
    });
    onTestFinished(() => fetchDocument.close());
    expect(await fetchDocument(`https://rebind.test:${port}/client`, 'named')).toBeUndefined();
    const host = address.includes(':') ? `[${address}]` : address;
    expect(await fetchDocument(`https://${host}:${port}/client`, 'named')).toBeUndefined();
    expect(count()).toBe(0);
  });

  test('is not connected to if a later answer of the name has one, or one beside a public one', async () => {
    const { port, count } = await listen();
    const answers = [['127.0.0.1', '8.8.8.8'], ['127.0.0.1']];
    const resolve = async () => answers.shift() ?? ['127.0.0.1'];
    const fetchDocument = createFetchDocument({ allowedNetworks: [], proxyUrl: undefined, resolve });
    onTestFinished(() => fetchDocument.close());
    for (let turn = 0; turn < 3; turn++)
      expect(await fetchDocument(`https://rebind.test:${port}/c`, 'named')).toBeUndefined();
    expect(count()).toBe(0);
  });

  test('of an allowed network is open to a host that is named, not to a wildcard', async () => {
    const { port, count } = await listen();
    const resolve = async () => ['127.0.0.1'];
    const fetchDocument = createFetchDocument({ allowedNetworks: ['127.0.0.0/8'], proxyUrl: undefined, resolve });
    onTestFinished(() => fetchDocument.close());
    await fetchDocument(`https://inside.test:${port}/client`, 'wildcard');
    expect(count()).toBe(0);
    await fetchDocument(`https://inside.test:${port}/client`, 'named');
    expect(count()).toBe(1);
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
    expect(await documents.find(idOf(11, 0), () => true)).toEqual({ problem: 'too-many' });
    resolve(undefined);
    await Promise.all([...first, again]);
    expect(count).toBe(10);
  });

  test('come again after a minute if they have failed, and at once without a store', async () => {
    const failed = new ClientDocuments({ hosts, now: () => 0, fetchDocument: async () => undefined });
    expect(await failed.find(idOf(0, 0), () => true)).toEqual({ problem: 'unavailable' });
    expect(await failed.find(idOf(0, 0), () => false)).toEqual({ problem: 'unavailable' });
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
