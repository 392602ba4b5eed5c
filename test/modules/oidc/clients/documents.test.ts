/** Where Usher fetches metadata of clients, how much of it, and how often. */
import { createHook } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ClientRequest, ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ClientDocuments } from '../../../../src/modules/oidc/clients/client-documents.ts';
import { matchHost, parseClientHosts } from '../../../../src/modules/oidc/clients/client-url.ts';
import { createFetchDocument, type FetchDocument } from '../../../../src/modules/oidc/clients/fetch-document.ts';
import { CLIENT_HOSTS, startClientServers } from '../../../support/client-metadata.ts';
import { MINUTE, SECOND } from '../../../support/clock.ts';
import { FORBIDDEN_ADDRESSES, FORBIDDEN_SPELLINGS, FORBIDDEN_URLS } from '../../../support/forbidden-targets.ts';

const clients = await startClientServers();
afterAll(() => clients[Symbol.asyncDispose]());
const fetchByProxy = createFetchDocument({ allowedNetworks: [], proxyUrl: clients.config.webhookProxyUrl });
afterAll(() => fetchByProxy.close());

const ASKING = { address: '192.0.2.1', mayFetch: () => true };
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

/** What the server answers instead of a document, and that it does not answer. */
const UNUSABLE = { problem: expect.any(String), isGone: true };
const NO_ANSWER = { problem: expect.any(String), isGone: false };

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

  test.each<[string, Record<string, string>, number, object]>([
    ['another type', { 'content-type': 'text/html' }, 200, UNUSABLE],
    ['no type', { 'content-type': '' }, 200, UNUSABLE],
    ['a redirect', { location: 'https://assistant.test/' }, 302, NO_ANSWER],
    ['another status', {}, 203, NO_ANSWER],
    ['an encoding', { 'content-encoding': 'br' }, 200, UNUSABLE],
    ['the status of a document that is gone', {}, 410, UNUSABLE],
    ['the status of a document that is not there', {}, 404, UNUSABLE],
    ['the status of a server that fails', {}, 503, NO_ANSWER],
    ['the status of a server that is asked too often', {}, 429, NO_ANSWER],
  ])('is refused with %s', async (name, headers, status, refusal) => {
    const clientId = serve(`/refused/${encodeURIComponent(name)}`, (id) => json(id), headers, status);
    expect(await fetchByProxy(clientId, 'wildcard')).toEqual(refusal);
  });

  test('that breaks off says nothing of the client', async () => {
    const clientId: string = clients.serve('/breaks', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1_000 }).write('{');
      setImmediate(() => response.destroy());
    });
    expect(await fetchByProxy(clientId, 'wildcard')).toEqual(NO_ANSWER);
  });

  test('is refused if it is compressed, no JSON, or no object', async () => {
    const packed = serve('/gzip', (id) => gzipSync(json(id)), { 'content-encoding': 'gzip' });
    const unsaid = serve('/gzip/unsaid', (id) => gzipSync(json(id)));
    for (const clientId of [packed, unsaid, serve('/text', () => '{'), serve('/list', (id) => `[${json(id)}]`)]) {
      expect([clientId, await fetchByProxy(clientId, 'wildcard')]).toEqual([clientId, UNUSABLE]);
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
    expect(await fetchByProxy(clientId, 'wildcard')).toHaveProperty('problem');
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
    expect(await fetching).toEqual(NO_ANSWER);
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
    expect(await fetching).toEqual(NO_ANSWER);
  });

  test('has 16 KiB at most', async () => {
    const sized = (size: number) => (id: string) => {
      const rest = size - Buffer.byteLength(json(id, { note: '' }));
      return json(id, { note: 'a'.repeat(rest) });
    };
    expect(await fetchByProxy(serve('/fits', sized(16_384)), 'wildcard')).toHaveProperty('document');
    expect(await fetchByProxy(serve('/large', sized(16_385)), 'wildcard')).toEqual(UNUSABLE);
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
      const found = await documents.find(url, ASKING);
      const fetched = [await fetchDocument(url, 'named'), await fetchDocument(url, 'wildcard')];
      if (!('problem' in found) || found.problem === 'too-many' || fetched.some((each) => 'document' in each))
        reached.push([url, found]);
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
    expect((await Promise.all(fetched)).filter((each) => 'document' in each)).toEqual([]);
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
  expect(matchHost(parseClientHosts(text), host)).toBe(match);
});

test.each([
  'https://client.test',
  'client.test/a',
  '*client.test',
  'a.*.test',
  'client.test:443',
  '*.',
  '127.0.0.1',
  '*.0.0.1',
  '',
  ',',
])('CLIENT_METADATA_HOSTS may not be %s', (text) => expect(() => parseClientHosts(text)).toThrow('must be hosts'));

describe('fetches', () => {
  const hosts = parseClientHosts(`*.${CLIENT_HOSTS}`);
  const document = { name: 'Assistant', redirectUris: [] };
  const found = { document, keptMs: MINUTE };
  const idOf = (host: number, path: number | string) => `https://c${host}.${CLIENT_HOSTS}/${path}`;
  const TOO_MANY = { problem: 'too-many', cause: expect.any(String) };
  const UNAVAILABLE = { problem: 'unavailable', cause: 'no answer' };
  const unanswered = { problem: 'no answer', isGone: false };

  /** The answer of a document can be set by its client ID. The others are found. */
  function open(others: Awaited<ReturnType<FetchDocument>> = found) {
    let [now, count, networks] = [0, 0, 0];
    const answers = new Map<string, Awaited<ReturnType<FetchDocument>>>();
    const documents = new ClientDocuments({
      hosts,
      now: () => now,
      fetchDocument: async (clientId) => {
        count += 1;
        return answers.get(clientId) ?? others;
      },
    });
    return {
      answers,
      /** From a network that has asked for nothing yet, unless an address is named. */
      find: (
        id: string,
        { address = `2001:db8:0:${(networks++).toString(16)}::1`, mayFetch = (): boolean => true } = {},
      ) => documents.find(id, { address, mayFetch }),
      pass: (ms: number) => (now += ms),
      count: () => count,
    };
  }

  test('are 30 a minute of a host, and 120 in all', async () => {
    const { find, pass } = open();
    const outcomes = [];
    for (let path = 0; path < 31; path++) outcomes.push(await find(idOf(0, path)));
    expect(outcomes.map((outcome) => 'problem' in outcome)).toEqual([...Array(30).fill(false), true]);
    for (let path = 0; path < 90; path++) expect(await find(idOf(1 + (path % 9), path))).toEqual({ document });
    expect(await find(idOf(20, 0))).toEqual(TOO_MANY);
    pass(2 * SECOND);
    expect(await find(idOf(20, 0))).toEqual({ document });
  });

  test('are 15 a minute of a host for one network, which leaves the others some', async () => {
    const { find } = open(unanswered);
    const address = '192.0.2.1';
    for (let path = 0; path < 15; path++) expect(await find(idOf(0, path), { address })).toEqual(UNAVAILABLE);
    expect(await find(idOf(0, 15), { address })).toEqual(TOO_MANY);
    expect(await find(idOf(0, 15))).toEqual(UNAVAILABLE);
    expect(await find(idOf(1, 0), { address })).toEqual(UNAVAILABLE);
  });

  test('of documents that are known are as many again, whatever others ask for', async () => {
    const { answers, find, pass } = open(unanswered);
    const clients = Array.from({ length: 30 }, (_, path) => idOf(0, `client/${path}`));
    for (const id of clients) answers.set(id, found);
    for (const id of clients) expect(await find(id)).toEqual({ document });
    let refused = 0;
    for (let second = 0; second < 60; second++) {
      pass(SECOND);
      const outcome = await find(idOf(0, `made-up/${second}`));
      if ('problem' in outcome && outcome.problem === 'too-many') refused += 1;
    }
    expect(refused).toBeGreaterThan(20);
    // They come again, changed.
    const changed = { name: 'Changed', redirectUris: [] };
    for (const id of clients) answers.set(id, { document: changed, keptMs: MINUTE });
    for (const id of clients) expect(await find(id)).toEqual({ document: changed });
    pass(MINUTE);
    // Beyond that, the old ones serve.
    for (const id of clients) answers.set(id, found);
    const more = idOf(0, 'client/more');
    answers.set(more, found);
    pass(MINUTE);
    expect(await find(more)).toEqual({ document });
    pass(MINUTE);
    const names = [];
    for (const id of [...clients, more]) names.push(await find(id));
    expect(names).toEqual(Array(31).fill({ document }));
  });

  test.each<[string, { answer?: typeof unanswered; mayFetch?: () => boolean }]>([
    ['the server does not answer', { answer: unanswered }],
    ['the limits refuse the fetch', { mayFetch: () => false }],
  ])('that fail leave a known document for a day: %s', async (_, { answer, mayFetch = () => true }) => {
    const { answers, count, find, pass } = open();
    const id = idOf(0, 0);
    await find(id);
    if (answer) answers.set(id, answer);
    pass(MINUTE);
    expect(await find(id, { mayFetch })).toEqual({ document });
    const tried = count();
    // The server has a minute to recover.
    expect(await find(id, { mayFetch })).toEqual({ document });
    expect(count()).toBe(tried);
    pass(24 * 60 * MINUTE - 1);
    expect(await find(id, { mayFetch })).toEqual({ document });
    pass(1);
    expect(await find(id, { mayFetch })).toHaveProperty('problem');
    answers.delete(id);
    pass(MINUTE);
    expect(await find(id)).toEqual({ document });
  });

  test('that find a document gone, or not usable any more, end it', async () => {
    const { answers, find, pass } = open();
    const id = idOf(0, 0);
    await find(id);
    answers.set(id, { problem: 'its status is 410', isGone: true });
    pass(MINUTE);
    expect(await find(id)).toEqual({ problem: 'unavailable', cause: 'its status is 410' });
    answers.set(id, unanswered);
    pass(MINUTE);
    expect(await find(id)).toEqual(UNAVAILABLE);
  });

  test('that fail for made-up paths drive no known document out', async () => {
    const { answers, find, pass } = open(unanswered);
    const id = idOf(0, 'client');
    answers.set(id, { document, keptMs: 24 * 60 * MINUTE });
    await find(id);
    for (let path = 0; path < 1_100; path++) {
      pass(MINUTE / 30);
      expect(await find(idOf(1, path))).toEqual(UNAVAILABLE);
    }
    expect(await find(id, { mayFetch: () => false })).toEqual({ document });
  });

  test('of a document that must not be stored take no permits of those that are not known', async () => {
    const { answers, find } = open(unanswered);
    const id = idOf(0, 'client');
    answers.set(id, { document, keptMs: 0 });
    await find(id);
    for (let path = 0; path < 40; path++) await find(idOf(0, path));
    expect(await find(idOf(0, 40))).toEqual(TOO_MANY);
    expect(await find(id)).toEqual({ document });
    answers.set(id, unanswered);
    // What was not stored does not serve.
    expect(await find(id)).toEqual(UNAVAILABLE);
  });

  test('are ten at once, and one for a document that many ask for', async () => {
    const { promise, resolve } = Promise.withResolvers<typeof unanswered>();
    let count = 0;
    const documents = new ClientDocuments({
      hosts,
      fetchDocument: async () => {
        count += 1;
        return promise;
      },
    });
    const first = Array.from({ length: 10 }, (_, path) => documents.find(idOf(path, 0), ASKING));
    const again = documents.find(idOf(0, 0), ASKING);
    const eleventh = documents.find(idOf(11, 0), ASKING);
    resolve(unanswered);
    expect(await eleventh).toEqual(TOO_MANY);
    await Promise.all([...first, again]);
    expect(count).toBe(10);
  });

  test('are waited for by 50 requests at once, so that the login page has some left', async () => {
    const { promise, resolve } = Promise.withResolvers<typeof unanswered>();
    const documents = new ClientDocuments({ hosts, fetchDocument: async () => promise });
    const find = () => documents.find(idOf(0, 0), ASKING);
    const waiting = Array.from({ length: 50 }, find);
    const refused = find();
    resolve(unanswered);
    expect(await refused).toEqual(TOO_MANY);
    expect(await Promise.all(waiting)).toEqual(Array(50).fill(UNAVAILABLE));
    expect(await find()).toEqual(UNAVAILABLE);
  });

  test('come again after a minute if they have failed, and at once without a store', async () => {
    const failed = open(unanswered);
    expect(await failed.find(idOf(0, 0))).toEqual(UNAVAILABLE);
    expect(await failed.find(idOf(0, 0), { mayFetch: () => false })).toEqual(UNAVAILABLE);
    failed.pass(MINUTE);
    expect(await failed.find(idOf(0, 0), { mayFetch: () => false })).toEqual(TOO_MANY);
    const kept = open();
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
    expect(await documents.find(idOf(0, 0), { ...ASKING, mayFetch: () => false })).toEqual(TOO_MANY);
  });
});
