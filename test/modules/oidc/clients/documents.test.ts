/** Where Usher fetches metadata of clients, and how much of it. */
import { createHook } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { ClientRequest, ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { AddressPolicy } from '../../../../src/domain/webhooks/address-policy.ts';
import { ClientDocuments } from '../../../../src/modules/oidc/clients/client-documents.ts';
import { parseClientHosts } from '../../../../src/modules/oidc/clients/client-url.ts';
import { createFetchDocument } from '../../../../src/modules/oidc/clients/fetch-document.ts';
import { startClientServers } from '../../../support/client-metadata.ts';
import { MINUTE, SECOND } from '../../../support/clock.ts';
import { FORBIDDEN_ADDRESSES, FORBIDDEN_SPELLINGS, FORBIDDEN_URLS } from '../../../support/forbidden-targets.ts';

const PUBLIC = new AddressPolicy([]);
const clients = await startClientServers();
afterAll(() => clients[Symbol.asyncDispose]());
const fetchByProxy = createFetchDocument({ policy: PUBLIC, proxyUrl: clients.config.webhookProxyUrl });
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

/** Returns the sockets of requests to come, with what they had read before. */
function recordSockets() {
  const sockets: { socket: Socket; before: number }[] = [];
  const onRequest = (message: unknown) => {
    const { request } = message as { request: ClientRequest };
    // The proxy has been asked for a connection by another request.
    if (request.method === 'GET')
      request.on('socket', (socket) => void sockets.push({ socket, before: socket.bytesRead }));
  };
  subscribe('http.client.request.created', onRequest);
  onTestFinished(() => void unsubscribe('http.client.request.created', onRequest));
  return sockets;
}

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
    const sockets = recordSockets();
    expect(await fetchByProxy(clientId, 'wildcard')).toHaveProperty('problem');
    const [taken] = sockets;
    expect(sockets).toHaveLength(1);
    expect(taken?.socket.destroyed).toBe(true);
    // TLS gives 16 KiB at once. The headers are in front.
    expect((taken?.socket.bytesRead ?? Number.NaN) - (taken?.before ?? 0)).toBeLessThanOrEqual(1_024 + 2 * 16_384);
  });

  test('leaves no connection open once Usher closes', async () => {
    const fetchDocument = createFetchDocument({ policy: PUBLIC, proxyUrl: clients.config.webhookProxyUrl });
    const sockets = recordSockets();
    await fetchDocument(
      serve('/closed', (id) => json(id)),
      'wildcard',
    );
    expect(sockets[0]?.socket.destroyed).toBe(false);
    fetchDocument.close();
    expect(sockets[0]?.socket.destroyed).toBe(true);
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
      policy: PUBLIC,
      proxyUrl: undefined,
      resolve: () => new Promise(() => {}),
    });
    onTestFinished(() => fetchDocument.close());
    const fetching = fetchDocument('https://slow.test/client', 'named');
    vi.advanceTimersByTime(5 * SECOND);
    expect(await fetching).toEqual(NO_ANSWER);
  });

  const LONG = 'https://assistant.test/'.padEnd(2_048, 'a');
  const NAME = 'its client_name is not 1 to 100 characters of one line';
  const METHODS = 'its token_endpoint_auth_methods do not include none';

  test.each<[string, object, string?]>([
    ['a name of one character', { client_name: 'A' }],
    ['a name of 100 characters', { client_name: '\u{1F6AA}'.repeat(100) }],
    ['a name of 101 characters', { client_name: 'a'.repeat(101) }, NAME],
    ['a name without a character', { client_name: '' }, NAME],
    ['a name of spaces', { client_name: ' ' }, NAME],
    ['a name of two lines', { client_name: 'a\nb' }, NAME],
    ['a name with half a character', { client_name: 'a\ud83d' }, NAME],
    ['a name that is no text', { client_name: ['Assistant'] }, NAME],
    ['20 redirect URIs', { redirect_uris: Array(20).fill('https://assistant.test/') }],
    ['21 redirect URIs', { redirect_uris: Array(21).fill('https://assistant.test/') }, 'no list of 1 to 20'],
    ['a redirect URI that is no list', { redirect_uris: 'a' }, 'no list of 1 to 20'],
    ['a redirect URI of 2,048 characters', { redirect_uris: [LONG] }],
    ['a redirect URI of 2,049 characters', { redirect_uris: [`${LONG}a`] }, 'none of its redirect_uris is usable'],
    [
      'a redirect URI that is no text',
      { redirect_uris: [1, ['https://assistant.test/']] },
      'none of its redirect_uris is usable',
    ],
    [
      'a redirect URI that nobody may have',
      { redirect_uris: ['http://app.test/'] },
      'none of its redirect_uris is usable',
    ],
    ['the ID of another client', { client_id: 'https://assistant.test/' }, 'its client_id is another'],
    ['a secret', { client_secret: '' }, 'it has a client_secret'],
    ['the method none', { token_endpoint_auth_method: 'none', token_endpoint_auth_methods_supported: ['a'] }],
    ['none among its methods', { token_endpoint_auth_method: 'a', token_endpoint_auth_methods_supported: ['none'] }],
    ['another method', { token_endpoint_auth_method: 'a' }, METHODS],
    ['other methods', { token_endpoint_auth_methods_supported: ['a'] }, METHODS],
    ['methods that are no list', { token_endpoint_auth_methods_supported: 'none' }, METHODS],
  ])('with %s is taken, or refused with the reason', async (name, changes, problem) => {
    const fetched = await fetchByProxy(
      serve(`/with/${encodeURIComponent(name)}`, (id) => json(id, changes)),
      'wildcard',
    );
    expect(fetched).toEqual(
      problem === undefined
        ? { document: expect.anything(), keptMs: 5 * MINUTE }
        : { problem: expect.stringContaining(problem), isGone: true },
    );
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
    ['for its maximum age, although it has expired', { 'cache-control': 'max-age="600"', expires: '0' }, 10 * MINUTE],
    ['as without a header where that says nothing', { expires: 'soon', age: '1' }, 5 * MINUTE],
  ])('is kept %s', async (name, headers, keptMs) => {
    const clientId = serve(`/kept/${encodeURIComponent(name)}`, (id) => json(id), headers);
    expect(await fetchByProxy(clientId, 'wildcard')).toMatchObject({ keptMs });
  });

  test('is kept until it expires, by the clock of Usher if the server tells no time', async () => {
    const clientId: string = clients.serve('/kept/undated', (_, response) => {
      response.sendDate = false;
      const expires = new Date(Date.now() + 12 * 60 * MINUTE).toUTCString();
      response.writeHead(200, { 'content-type': 'application/json', expires }).end(json(clientId));
    });
    const fetched = await fetchByProxy(clientId, 'wildcard');
    const keptMs = 'keptMs' in fetched ? fetched.keptMs : Number.NaN;
    expect(keptMs).toBeGreaterThan(6 * 60 * MINUTE);
    expect(keptMs).toBeLessThanOrEqual(12 * 60 * MINUTE);
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
    const fetchDocument = createFetchDocument({ policy: PUBLIC, proxyUrl: undefined });
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
      const fetchDocument = createFetchDocument({ policy: PUBLIC, proxyUrl: undefined, resolve });
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
    const fetchDocument = createFetchDocument({
      policy: new AddressPolicy(['127.0.0.1/32']),
      proxyUrl: undefined,
      resolve,
    });
    onTestFinished(() => fetchDocument.close());
    for (let turn = 0; turn < 3; turn++) await fetchDocument(`https://rebind.test:${port}/c`, 'named');
    expect([answers, count()]).toEqual([[], 1]);
  });

  test('of an allowed network is open to a host that is named, not to a wildcard', async () => {
    const { port, count } = await listen();
    const countTries = countConnects();
    const resolve = async () => ['127.0.0.1'];
    const fetchDocument = createFetchDocument({
      policy: new AddressPolicy(['127.0.0.0/8']),
      proxyUrl: undefined,
      resolve,
    });
    onTestFinished(() => fetchDocument.close());
    await fetchDocument(`https://inside.test:${port}/client`, 'wildcard');
    expect(count()).toBe(0);
    await fetchDocument(`https://inside.test:${port}/client`, 'named');
    expect([count(), countTries()]).toEqual([1, 1]);
  });
});
