/** An issuer that rotates its keys, fails, hangs or answers nonsense. */
import { once } from 'node:events';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { MINUTE, SECOND } from '../support/clock.ts';
import { request } from '../support/http.ts';
import { type Answer, generateIssuerKey, JwksServer } from '../support/issuer.ts';
import { type IssuerFixture, openIssuerFixture } from '../support/issuer-fixture.ts';
import { MEASURED, openMetrics, scrape } from '../support/metrics.ts';
import { createTestUser, logIn, type TestService } from '../support/service.ts';

const REFRESH_PAUSE_MS = 30 * SECOND;
const KEYS_LIVE_MS = 10 * MINUTE;

const fixture = await openIssuerFixture();
let server: JwksServer;
let service: TestService;

afterAll(() => fixture.close());
afterEach(async () => {
  vi.useRealTimers();
  await service?.close();
  await server?.stop();
});

/** Starts an issuer, with the given answer if there is one, and a service that does not know its keys. */
async function start(answer?: Answer, settings?: Parameters<IssuerFixture['startWith']>[1]): Promise<void> {
  server = await JwksServer.start(fixture.key);
  if (answer) server.answer = answer;
  service = await fixture.startWith(server, settings);
}

/** Sets the time that tokens and the lifetime of keys go by. */
function advance(milliseconds: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds });
}

const failing: Answer = (_request, response) => response.writeHead(500).end();

const exchange = (authToken = fixture.token()) => fixture.exchange(authToken, service);
const exchangeMany = async (count: number, token = () => fixture.token()) => [
  ...new Set(await Promise.all(Array.from({ length: count }, () => exchange(token())))),
];

describe('the keys of the issuer', () => {
  it('are requested again at most every 30 s for unknown key IDs', async () => {
    await start();
    // The clock stands still.
    advance(0);
    expect(await exchange()).toBe('ok');
    const flood = async () => {
      const unknown = () => fixture.token({ key: generateIssuerKey('EdDSA') });
      expect(await exchangeMany(30, unknown)).toEqual(['unauthenticated']);
      return server.requests;
    };
    expect(await flood()).toBe(1);
    advance(REFRESH_PAUSE_MS - SECOND);
    expect(await flood()).toBe(1);
    advance(2 * SECOND);
    expect(await flood()).toBe(2);
    expect(await flood()).toBe(2);
    expect(await exchange()).toBe('ok');
  });

  it('may be rotated: the new one is accepted and the old one refused', async () => {
    const next = generateIssuerKey('EdDSA');
    await start();
    expect(await exchange()).toBe('ok');
    server.publish(next);
    advance(REFRESH_PAUSE_MS);
    expect(await exchange(fixture.token({ key: next }))).toBe('ok');
    expect(await exchange()).toBe('unauthenticated');
    expect(server.requests).toBe(2);
  });

  it.each<[string, () => unknown, number]>([
    ['is down', () => server.stop(), 1],
    ['hangs, which is asked only once', () => Object.assign(server, { answer: () => {} }), 2],
  ])('stay in use while the issuer %s', async (_, fail, requests) => {
    await start();
    expect(await exchange()).toBe('ok');
    await fail();
    advance(KEYS_LIVE_MS + SECOND);
    for (let count = 0; count < 5; count++) expect(await exchange()).toBe('ok');
    expect(server.requests).toBe(requests);
  });

  it.each<[string, () => unknown]>([
    ['is down', () => server.stop()],
    ['answers with status 500', () => Object.assign(server, { answer: failing })],
  ])('that it may have published since make the exchange return 503 while it %s', async (_, fail) => {
    await start();
    expect(await exchange()).toBe('ok');
    await fail();
    advance(REFRESH_PAUSE_MS + SECOND);
    const next = fixture.token({ key: generateIssuerKey('EdDSA') });
    // The request for the keys fails; after it, none is made for a while.
    expect([await exchange(next), await exchange(next)]).toEqual(['unavailable', 'unavailable']);
    expect(await exchange()).toBe('ok');
  });

  it('are found once the issuer is back', async () => {
    await start((_request, response) => response.writeHead(500).end());
    expect(await exchange()).toBe('unavailable');
    server.publish(fixture.key);
    await expect.poll(() => exchange(), { interval: 200 }).toBe('ok');
  });
});

describe('an issuer that answers with', () => {
  it.each<[string, Answer]>([
    ['HTML', (_, response) => void response.setHeader('content-type', 'text/html').end('<!doctype html>')],
    ['status 500', (_, response) => response.writeHead(500).end(JSON.stringify({ keys: [fixture.key.publicJwk] }))],
    [
      'half a reply',
      (_, response) => {
        response.setHeader('content-length', 1_000).write('{"keys":[');
        setTimeout(() => response.destroy(), 50);
      },
    ],
  ])('%s makes the exchange return 503, and is not asked for each token', async (_name, answer) => {
    await start(answer);
    const startedAt = performance.now();
    for (let round = 0; round < 10; round++) expect(await exchange()).toBe('unavailable');
    expect(server.requests).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / SECOND);
  });

  it('a redirect is not followed', async () => {
    await using target = await JwksServer.start(fixture.key);
    await start((_, response) => response.writeHead(302, { location: target.url }).end());
    expect(await exchange()).toBe('unavailable');
    expect(target.requests).toBe(0);
  });

  it('100 MB is disconnected early', async () => {
    let sent = 0;
    await start(async (_, response) => {
      const chunk = Buffer.alloc(65_536, ' ');
      const closed = once(response, 'close');
      while (sent < 100_000_000 && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) await Promise.race([once(response, 'drain'), closed]);
      }
      response.end(JSON.stringify({ keys: [fixture.key.publicJwk] }));
    });
    expect(await exchange()).toBe('unavailable');
    // Unread bytes fill the buffers of two sockets.
    expect(sent).toBeLessThan(30_000_000);
  });
});

describe('while the issuer', () => {
  it.each<[string, Answer]>([
    ['hangs', () => {}],
    [
      'sends a byte at a time',
      (_, response) => {
        const timer = setInterval(() => response.write(' '), 100);
        response.once('close', () => clearInterval(timer));
      },
    ],
  ])('%s, its tokens wait for one request and then get 503, and other calls do not wait', async (_name, answer) => {
    await start(answer);
    // The request for the keys times out when the other calls are over, however busy the machine is.
    const timer = new AbortController();
    using _ = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(timer.signal);
    const ours = await logIn(service, fixture.tenant, fixture.user);
    let isAnswered = false;
    const waiting = exchangeMany(20).finally(() => {
      isAnswered = true;
    });
    await expect.poll(() => server.requests).toBe(1);
    expect(await exchange(ours)).toBe('ok');
    expect((await request(service.url, { path: '/readyz' })).status).toBe(200);
    await createTestUser(service);
    expect(isAnswered).toBe(false);
    timer.abort();
    expect(await waiting).toEqual(['unavailable']);
    expect(server.requests).toBe(1);
  });

  it('is slow, the exchanges that wait for it leave the limit of calls in flight as it is', async () => {
    await start(undefined, { ...MEASURED, requestTimeoutMs: 6_000 });
    const { answer } = server;
    // Longer than a call may take before it counts as slow.
    server.answer = (...exchanged) => setTimeout(answer, 1_200, ...exchanged);
    await using metrics = await openMetrics(service);
    const readLimit = async () => (await scrape(metrics)).sum('usher_admission_limit', { kind: 'api' });
    const limit = await readLimit();
    expect(limit).toBeGreaterThan(100);
    expect(await exchangeMany(20)).toEqual(['ok']);
    expect(await readLimit()).toBe(limit);
  });

  it('hangs, no call takes longer than REQUEST_TIMEOUT_MS', async () => {
    await start(() => {}, { requestTimeoutMs: 500 });
    await using patient = await fixture.startWith(server);
    // There the request for the keys ends after 3 s.
    const answered: string[] = [];
    const note = (at: TestService) =>
      fixture.exchange(fixture.token(), at).then((code) => answered.push(`${code} at ${at.url}`));
    await Promise.all([note(patient), note(service)]);
    expect(answered).toEqual([`unavailable at ${service.url}`, `unavailable at ${patient.url}`]);
  });
});
