import { createHmac, createPrivateKey, createPublicKey, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import type { Config } from '../../src/config/config.ts';
import { type Answer, CALLERS } from '../support/callers.ts';
import { MINUTE, SECOND } from '../support/clock.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { request } from '../support/http.ts';
import { encode, generateIssuerKey, ISSUER, type IssuerKey, JwksServer, signToken } from '../support/issuer.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  logIn,
  PUBLIC_URL,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
  testConfig,
} from '../support/service.ts';

/** The longest that keys may take to come, and what a slow machine adds to it. */
const KEYS_TIMEOUT_MS = 3_000;
const SLACK_MS = 1_500;
const REFRESH_PAUSE_MS = 30 * SECOND;
const KEYS_LIVE_MS = 10 * MINUTE;

const key = generateIssuerKey('EdDSA', 'issuer-key');
const ecKey = generateIssuerKey('ES256', 'issuer-ec-key');

let database: TestDatabase;
let config: Config;
let jwks: JwksServer;
let service: TestService;
let tenant: Tenant;
let otherTenant: Tenant;
let user: TestUser;

beforeAll(async () => {
  database = await cloneDatabase();
  jwks = await JwksServer.start(key, ecKey);
  config = testConfig(database.url, { AUTH_ISSUER: ISSUER, AUTH_JWKS_URL: jwks.url });
  service = await startTestService({ database, like: config });
  tenant = await createTenant(service);
  otherTenant = await createTenant(service);
  user = await createTestUser(service);
});
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  await service.close();
  await jwks.stop();
  await database[Symbol.asyncDispose]();
});

/** A service of its own, which knows no keys yet. */
const startWith = (jwksUrl: string, settings: Partial<Config> = {}) =>
  startTestService({ database, like: config, config: { authIssuer: { issuer: ISSUER, jwksUrl }, ...settings } });

const headerFor = ({ alg, kid }: IssuerKey) => ({ alg, typ: 'login+jwt', kid });

function claimsNow() {
  const iat = Math.floor(Date.now() / 1000);
  return { iss: ISSUER, aud: tenant.clientId, sub: user.id, jti: randomUUID(), iat, exp: iat + 900 };
}

const tokenBy = (signer: IssuerKey, kid = signer.kid) => signToken({ ...headerFor(signer), kid }, claimsNow(), signer);

const callers = CALLERS.filter(({ name }) => ['REST over HTTP/1.1', 'gRPC over HTTP/2'].includes(name));
const [rest] = callers;

/** The exchange over REST. */
function exchange(authToken: string, at: TestService = service): Promise<Answer> {
  if (!rest) throw new Error('REST is not among the callers');
  return rest.call(at.url, AuthService.method.exchangeToken, { authToken }, { 'x-api-key': tenant.apiKey });
}

const codeOf = async (answer: Promise<Answer>) => (await answer).code;

describe.each(callers)('over $name', ({ call }) => {
  const exchangeOver = (authToken: string) =>
    call(service.url, AuthService.method.exchangeToken, { authToken }, { 'x-api-key': tenant.apiKey });

  it.each([
    ['EdDSA', key],
    ['ES256', ecKey],
  ])('a token of the issuer, signed with %s, is exchanged for the user whose ID is its sub', async (_alg, signer) => {
    const answer = await exchangeOver(tokenBy(signer));
    expect(answer).toMatchObject({ code: 'ok', data: { user: { email: user.email } } });
  });

  it('404 where nobody in Usher has that ID', async () => {
    const token = signToken(headerFor(key), { ...claimsNow(), sub: randomUUID() }, key);
    expect(await exchangeOver(token)).toMatchObject({ code: 'not_found', message: 'User not found' });
  });

  it('503 while the issuer cannot be reached and none of its keys are known, never 401', async () => {
    const gone = await JwksServer.start(key);
    await using lost = await startWith(gone.url);
    await gone.stop();
    const answer = await call(
      lost.url,
      AuthService.method.exchangeToken,
      { authToken: tokenBy(key) },
      { 'x-api-key': tenant.apiKey },
    );
    expect(answer).toMatchObject({ code: 'unavailable', message: 'Service unavailable' });
  });
});

it('our own tokens are exchanged as before', async () => {
  const authToken = await logIn(service, tenant, user);
  expect(await exchange(authToken)).toMatchObject({ code: 'ok', data: { user: { email: user.email } } });
});

describe('a token is refused with 401', () => {
  const claims = (changes: Record<string, unknown>) => () =>
    signToken(headerFor(key), { ...claimsNow(), ...changes }, key);
  const without = (name: string) => claims({ [name]: undefined });
  const header =
    (changes: Record<string, unknown>, signer = key) =>
    () =>
      signToken({ ...headerFor(signer), ...changes }, claimsNow(), signer);
  const seconds = () => Math.floor(Date.now() / 1000);

  const attacks: [name: string, forge: () => string][] = [
    ['without a signature (alg none)', () => `${encode({ ...headerFor(key), alg: 'none' })}.${encode(claimsNow())}.`],
    ['with alg none, signed all the same', header({ alg: 'none' })],
    [
      'signed with the public key as a shared secret (HS256)',
      () => {
        const input = `${encode({ ...headerFor(key), alg: 'HS256' })}.${encode(claimsNow())}`;
        const pem = createPublicKey({ key: key.publicJwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
        return `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`;
      },
    ],
    ['that names the algorithm of another key', header({ alg: 'ES256' })],
    ['that names another key of the issuer', header({ kid: ecKey.kid })],
    ['signed by a stranger under the name of the issuer’s key', () => tokenBy(generateIssuerKey('EdDSA', key.kid))],
    ['of a key the issuer does not publish', () => tokenBy(generateIssuerKey('EdDSA'))],
    ['without a key ID', header({ kid: undefined })],
    ['of typ JWT', header({ typ: 'JWT' })],
    ['of no typ', header({ typ: undefined })],
    [
      'that brings its own key (jwk)',
      () => {
        const own = generateIssuerKey('EdDSA');
        return signToken({ ...headerFor(own), jwk: own.publicJwk }, claimsNow(), own);
      },
    ],
    ['that says where its keys are (jku)', header({ jku: 'https://evil.test/keys' })],
    ['with a critical header (crit)', header({ crit: ['exp'] })],
    ['for another application', claims({ aud: 'client_of_somebody_else' })],
    ['for a list of applications', () => claims({ aud: [tenant.clientId] })()],
    ['for no application', without('aud')],
    ['of another issuer', claims({ iss: 'https://issuer.evil' })],
    ['of the issuer with a slash', claims({ iss: `${ISSUER}/` })],
    ['of no issuer', without('iss')],
    ['of a list of issuers', claims({ iss: [ISSUER] })],
    ['for nobody', without('sub')],
    ['for an e-mail address', () => claims({ sub: user.email })()],
    ['for a number', claims({ sub: 1 })],
    ['without an ID of the login', without('jti')],
    ['with an ID of the login that is no UUID', claims({ jti: 'login-1' })],
    ['without a time of issue', without('iat')],
    ['without a time of expiry', without('exp')],
    ['that lives longer than 15 minutes', () => claims({ exp: seconds() + 901 })()],
    ['that lives shorter than 15 minutes', () => claims({ exp: seconds() + 899 })()],
    ['that is 15 minutes old', () => claims({ iat: seconds() - 900, exp: seconds() })()],
    ['of tomorrow', () => claims({ iat: seconds() + 86_400, exp: seconds() + 86_400 + 900 })()],
    ['with times in text', () => claims({ iat: String(seconds()), exp: String(seconds() + 900) })()],
    ['not valid yet', () => claims({ nbf: seconds() + 600 })()],
    [
      'with claims other than those signed',
      () => {
        const [head, , signature] = tokenBy(key).split('.');
        return `${head}.${encode(claimsNow())}.${signature}`;
      },
    ],
    ['with padding', () => `${tokenBy(key)}==`],
    ['with a part more', () => `${tokenBy(key)}.`],
    ['in another spelling of its last byte', () => respellLastByte(tokenBy(key))],
  ];

  function respellLastByte(token: string): string {
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = digits.indexOf(token.at(-1) ?? '');
    const respelled = `${token.slice(0, -1)}${digits[last ^ 1]}`;
    const bytesOf = (text: string) => Buffer.from(text.split('.')[2] ?? '', 'base64url');
    expect(bytesOf(respelled)).toEqual(bytesOf(token));
    return respelled;
  }

  const ourKey = (): IssuerKey => {
    const [jwk] = service.config.secrets.authSigningKeys ?? [];
    if (!jwk) throw new Error('No signing key');
    const privateKey = createPrivateKey({ key: { ...jwk }, format: 'jwk' });
    return { kid: String(jwk.kid), alg: 'EdDSA', privateKey, publicJwk: {} };
  };

  const swaps: [name: string, forge: () => string][] = [
    ['in our name, signed with the issuer’s key', claims({ iss: PUBLIC_URL })],
    [
      'in our name, signed with the issuer’s key under the name of ours',
      () => signToken({ ...headerFor(key), kid: ourKey().kid }, { ...claimsNow(), iss: PUBLIC_URL }, key),
    ],
    ['in the issuer’s name, signed with our key', () => tokenBy(ourKey())],
    ['in the issuer’s name, signed with our key under the name of the issuer’s', () => tokenBy(ourKey(), key.kid)],
    ['in both names', claims({ iss: [PUBLIC_URL, ISSUER] })],
  ];

  it.each([...attacks, ...swaps])('%s', async (_name, forge) => {
    expect(await exchange(tokenBy(key))).toMatchObject({ code: 'ok' });
    expect(await exchange(forge())).toMatchObject({
      code: 'unauthenticated',
      message: 'Invalid or expired token',
    });
  });

  it('where it was made for another application', async () => {
    const token = signToken(headerFor(key), { ...claimsNow(), aud: otherTenant.clientId }, key);
    expect(await codeOf(exchange(token))).toBe('unauthenticated');
    const { auth } = clientsOf(service, otherTenant);
    expect((await auth.exchangeToken({ authToken: token })).user?.email).toBe(user.email);
  });

  it('where its algorithm is RS256, although the issuer publishes the key', async () => {
    const rsa = generateIssuerKey('RS256');
    await using server = await JwksServer.start(key, rsa);
    await using own = await startWith(server.url);
    expect(await codeOf(exchange(tokenBy(rsa), own))).toBe('unauthenticated');
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok');
  });

  it('in the name of an issuer that is not configured', async () => {
    await using own = await startTestService({ database, like: config, config: { authIssuer: undefined } });
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('unauthenticated');
    expect(await codeOf(exchange(await logIn(own, tenant, user), own))).toBe('ok');
  });
});

describe('the keys of the issuer', () => {
  /** Now that much later, for tokens and for what is known of keys. */
  function later(milliseconds: number): void {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds });
  }

  it('are asked for once, however many tokens come, and not before the first', async () => {
    await using server = await JwksServer.start(key);
    await using own = await startWith(server.url);
    expect(server.requests).toBe(0);
    const codes = await Promise.all(Array.from({ length: 30 }, () => codeOf(exchange(tokenBy(key), own))));
    expect(new Set(codes)).toEqual(new Set(['ok']));
    expect(server.requests).toBe(1);
  });

  it('are not asked for by tokens of ours', async () => {
    await using server = await JwksServer.start(key);
    await using own = await startWith(server.url);
    expect(await codeOf(exchange(await logIn(own, tenant, user), own))).toBe('ok');
    expect(server.requests).toBe(0);
  });

  it('are asked for again once in 30 s, however many unknown ones are named', async () => {
    await using server = await JwksServer.start(key);
    await using own = await startWith(server.url);
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok');
    const flood = async () => {
      const codes = await Promise.all(
        Array.from({ length: 30 }, () => codeOf(exchange(tokenBy(generateIssuerKey('EdDSA')), own))),
      );
      expect(new Set(codes)).toEqual(new Set(['unauthenticated']));
    };
    await flood();
    expect(server.requests).toBe(1);
    later(REFRESH_PAUSE_MS - SECOND);
    await flood();
    expect(server.requests).toBe(1);
    later(2 * SECOND);
    await flood();
    await flood();
    expect(server.requests).toBe(2);
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok');
  });

  it('may be rotated: the new one is found, the old one refused', async () => {
    const next = generateIssuerKey('EdDSA');
    await using server = await JwksServer.start(key);
    await using own = await startWith(server.url);
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok');
    server.publish(next);
    later(REFRESH_PAUSE_MS);
    expect(await codeOf(exchange(tokenBy(next), own))).toBe('ok');
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('unauthenticated');
    expect(server.requests).toBe(2);
  });

  it('are used on while the issuer is down, long after they were fetched', async () => {
    const server = await JwksServer.start(key);
    await using own = await startWith(server.url);
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok');
    await server.stop();
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok');
    later(KEYS_LIVE_MS + SECOND);
    const codes = await Promise.all(Array.from({ length: 10 }, () => codeOf(exchange(tokenBy(key), own))));
    expect(new Set(codes)).toEqual(new Set(['ok']));
  });

  it('are used on, without a wait for each token, while the issuer hangs', async () => {
    await using server = await JwksServer.start(key);
    await using own = await startWith(server.url);
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok');
    server.answer = () => {};
    later(KEYS_LIVE_MS + SECOND);
    const startedAt = performance.now();
    for (let count = 0; count < 5; count++) expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok');
    expect(performance.now() - startedAt).toBeLessThan(KEYS_TIMEOUT_MS + SLACK_MS);
    expect(server.requests).toBe(2);
  });

  it('are found as soon as the issuer is back', async () => {
    await using server = await JwksServer.start(key);
    server.answer = (_request, response) => response.writeHead(500).end();
    await using own = await startWith(server.url);
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('unavailable');
    server.publish(key);
    await vi.waitFor(async () => expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok'), {
      timeout: 3_000,
      interval: 200,
    });
  });

  it('are not asked for by each of many tokens while the issuer fails', async () => {
    await using server = await JwksServer.start(key);
    server.answer = (_request, response) => response.writeHead(500).end();
    await using own = await startWith(server.url);
    const startedAt = performance.now();
    for (let round = 0; round < 20; round++) expect(await codeOf(exchange(tokenBy(key), own))).toBe('unavailable');
    const elapsedSeconds = Math.ceil((performance.now() - startedAt) / SECOND);
    expect(server.requests).toBeLessThanOrEqual(elapsedSeconds + 1);
  });

  it('do no harm where one of them is broken', async () => {
    await using server = await JwksServer.start(key);
    const broken = { ...generateIssuerKey('EdDSA', 'broken').publicJwk, x: 'AAAA' };
    server.answer = (_request, response) => void response.end(JSON.stringify({ keys: [broken, key.publicJwk] }));
    await using own = await startWith(server.url);
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('ok');
    expect(['unauthenticated', 'unavailable']).toContain(
      await codeOf(exchange(tokenBy(generateIssuerKey('EdDSA', 'broken')), own)),
    );
  });
});

describe('an issuer that answers badly', () => {
  const bigSet = () => JSON.stringify({ keys: [key.publicJwk], padding: 'x'.repeat(300_000) });

  it.each<[string, (server: JwksServer) => void]>([
    [
      'an HTML page',
      (server) => {
        server.answer = (_request, response) =>
          void response.setHeader('content-type', 'text/html').end('<!doctype html>');
      },
    ],
    [
      'status 500',
      (server) => {
        server.answer = (_request, response) => response.writeHead(500).end(JSON.stringify({ keys: [key.publicJwk] }));
      },
    ],
    [
      'status 404',
      (server) => {
        server.answer = (_request, response) => response.writeHead(404).end('{}');
      },
    ],
    [
      'nothing',
      (server) => {
        server.answer = (_request, response) => void response.end();
      },
    ],
    [
      'JSON that is no key set',
      (server) => {
        server.answer = (_request, response) => void response.end('{"jwks":[]}');
      },
    ],
    [
      'null',
      (server) => {
        server.answer = (_request, response) => void response.end('null');
      },
    ],
    [
      'a key set of what are no keys',
      (server) => {
        server.answer = (_request, response) => void response.end('{"keys":[null,1,"key"]}');
      },
    ],
    [
      'more bytes than a key set has',
      (server) => {
        server.answer = (_request, response) => void response.end(bigSet());
      },
    ],
    [
      'half of its answer',
      (server) => {
        server.answer = (_request, response) => {
          response.setHeader('content-length', 1_000).write('{"keys":[');
          setTimeout(() => response.destroy(), 50);
        };
      },
    ],
    [
      'a closed connection',
      (server) => {
        server.answer = (_request, response) => void response.destroy();
      },
    ],
  ])('with %s is as good as none: 503 at once, and not asked for each token', async (_name, breakServer) => {
    await using server = await JwksServer.start(key);
    breakServer(server);
    await using own = await startWith(server.url);
    const startedAt = performance.now();
    const codes = [];
    for (let round = 0; round < 10; round++) codes.push(await codeOf(exchange(tokenBy(key), own)));
    const elapsedMs = performance.now() - startedAt;
    expect(new Set(codes)).toEqual(new Set(['unavailable']));
    expect(elapsedMs).toBeLessThan(SLACK_MS);
    expect(server.requests).toBeLessThanOrEqual(2);
  });

  it('with a redirect is not followed', async () => {
    await using target = await JwksServer.start(key);
    await using server = await JwksServer.start(key);
    server.answer = (_request, response) => response.writeHead(302, { location: target.url }).end();
    await using own = await startWith(server.url);
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('unavailable');
    expect(target.requests).toBe(0);
  });

  it('with 100 MB is read no further than a key set is long', async () => {
    await using server = await JwksServer.start(key);
    let sent = 0;
    server.answer = async (_request, response) => {
      const chunk = Buffer.alloc(65_536, ' ');
      while (sent < 100_000_000 && !response.destroyed) {
        sent += chunk.length;
        if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      }
      response.end(JSON.stringify({ keys: [key.publicJwk] }));
    };
    await using own = await startWith(server.url);
    const startedAt = performance.now();
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('unavailable');
    expect(performance.now() - startedAt).toBeLessThan(KEYS_TIMEOUT_MS + SLACK_MS);
    // What was sent and not read is in the buffers of two sockets.
    expect(sent).toBeLessThan(30_000_000);
  });

  it.concurrent.each<[string, (server: JwksServer) => void]>([
    [
      'that hangs',
      (server) => {
        server.answer = () => {};
      },
    ],
    [
      'that hangs after its headers',
      (server) => {
        server.answer = (_request, response) => response.flushHeaders();
      },
    ],
    [
      'that sends a byte at a time',
      (server) => {
        server.answer = (_request, response) => {
          const timer = setInterval(() => response.write(' '), 100);
          response.once('close', () => clearInterval(timer));
        };
      },
    ],
  ])('%s makes its own tokens wait for 3 s at most, and nothing else', async (_name, breakServer) => {
    await using server = await JwksServer.start(key);
    breakServer(server);
    await using own = await startWith(server.url);
    const ours = await logIn(own, tenant, user);
    const startedAt = performance.now();
    const waiting = Promise.all(Array.from({ length: 20 }, () => codeOf(exchange(tokenBy(key), own))));
    await sleep(100);
    const before = performance.now();
    expect(await codeOf(exchange(ours, own))).toBe('ok');
    expect((await request(own.url, { path: '/readyz' })).status).toBe(200);
    await createTestUser(own);
    await logIn(own, tenant, user);
    expect(performance.now() - before).toBeLessThan(SLACK_MS);
    expect(new Set(await waiting)).toEqual(new Set(['unavailable']));
    expect(performance.now() - startedAt).toBeLessThan(KEYS_TIMEOUT_MS + SLACK_MS);
    expect(server.requests).toBe(1);
  });

  it.concurrent('that hangs holds no call longer than REQUEST_TIMEOUT_MS', async () => {
    await using server = await JwksServer.start(key);
    server.answer = () => {};
    await using own = await startWith(server.url, { requestTimeoutMs: 500 });
    const startedAt = performance.now();
    expect(await codeOf(exchange(tokenBy(key), own))).toBe('unavailable');
    expect(performance.now() - startedAt).toBeLessThan(500 + SLACK_MS);
  });
});

// The port may be taken by another test in between.
it('is not to be what the service itself is by default', { retry: 2 }, async () => {
  const { port, close } = await startTestService({ database });
  await close();
  const authIssuer = { issuer: `http://localhost:${port}`, jwksUrl: jwks.url };
  const started = startTestService({ database, like: config, config: { port, publicUrl: undefined, authIssuer } });
  await expect(started).rejects.toThrow('AUTH_ISSUER must not be PUBLIC_URL');
});
