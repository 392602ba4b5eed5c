/** What strangers make the endpoints of OpenID Connect do: each reply is small, and costs little more than one for a path that is none. The long form judges CPU times. */
import { createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../lab/bench/load/client.ts';
import { Meter } from '../lab/bench/meter.ts';
import { medianOf } from '../lab/bench/statistics.ts';
import { cloneDatabase } from '../support/database.ts';
import { type HttpReply, type HttpRequest, request } from '../support/http.ts';
import { newAddress } from '../support/login-browser.ts';
import { authorizationOf, createRsaJwk } from '../support/oidc.ts';
import { optionsFor, UsherProcess } from '../support/process.ts';
import { createTenant, PUBLIC_URL } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

/** By how much the CPU time of a request may exceed that of the cheapest one. An error page takes four times as much. */
const MAX_RATIO = 10;
/** A page with its style. A redirect or an error of the standard has less than 1 KB. */
const MAX_BYTES = 16_384;
const REQUESTS = quickOrLong(10, 500);
const ROUNDS = quickOrLong(1, 9);
const NOTHING = 'a path that is none';
/** What a network has at most after a pause of any length. */
const PERMITS = 600;

const jwk = createRsaJwk();
const stack = new AsyncDisposableStack();
afterAll(() => stack.disposeAsync());
const database = stack.use(await cloneDatabase());
const { files = {}, env } = optionsFor(database.url, {
  OIDC_SIGNING_KEYS_FILE: 'oidc.json',
  TRUSTED_PROXIES: '127.0.0.1',
});
const usher = stack.use(
  await UsherProcess.start({ files: { ...files, 'oidc.json': JSON.stringify({ keys: [jwk] }) }, env, keepsLog: false }),
);
const tenant = await createTenant(usher, { openIdConnect: true });
const publicTenant = await createTenant(usher, { openIdConnect: true, publicClient: true });

type Attack = () => HttpRequest & { readonly status: number };

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
const claims = encode({
  iss: PUBLIC_URL,
  aud: tenant.clientId,
  sub: randomUUID(),
  iat: Math.floor(Date.now() / 1_000),
});
const signatureBytes = Buffer.from(
  createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ format: 'jwk' }).n ?? '',
  'base64url',
).length;
/** All but the signature is right. */
const forged = () =>
  `${encode({ alg: 'RS256', typ: 'JWT', kid: jwk.kid })}.${claims}.${randomBytes(signatureBytes).toString('base64url')}`;
const get = (
  path: string,
  parameters: Record<string, string> | URLSearchParams,
  status: number,
  address = newAddress(),
) => ({
  path: `${path}?${new URLSearchParams(parameters)}`,
  headers: { 'x-forwarded-for': address },
  status,
});
const post = (path: string, fields: Record<string, string>, status: number) => ({
  path,
  headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': newAddress() },
  body: new URLSearchParams(fields).toString(),
  status,
});
const wrongSecret = () => ({
  client_id: tenant.clientId,
  client_secret: `usk_${randomBytes(32).toString('base64url')}`,
});
const guess = (prefix: string, bytes: number) => prefix + randomBytes(bytes).toString('base64url');
const GREEDY = '2001:db8::1';

const ATTACKS: Readonly<Record<string, Attack>> = {
  [NOTHING]: () => get('/nothing', {}, 404),
  'authorize: an unknown client': () =>
    get('/oidc/authorize', authorizationOf({ clientId: `client_${randomBytes(16).toString('hex')}` }), 400),
  'authorize: a wrong redirect URI': () =>
    get('/oidc/authorize', authorizationOf(tenant, { redirect_uri: 'https://evil.test/' }), 400),
  'authorize: a fault': () => get('/oidc/authorize', authorizationOf(tenant, { scope: 'x' }), 303),
  'authorize: a login': () => get('/oidc/authorize', authorizationOf(tenant), 303),
  'authorize: beyond the limit': () => get('/oidc/authorize', authorizationOf(tenant), 429, GREEDY),
  'logout: no hint': () => get('/oidc/logout', {}, 200),
  'logout: a hint that is none': () => get('/oidc/logout', { id_token_hint: guess('', 900) }, 200),
  'logout: a hint with a wrong signature': () => get('/oidc/logout', { id_token_hint: forged() }, 200),
  'logout: beyond the limit': () => get('/oidc/logout', { id_token_hint: forged() }, 429, GREEDY),
  'return: a code that is none': () => get('/oidc/return', { code: guess('', 48) }, 404),
  'token: a wrong secret': () =>
    post('/oidc/token', { ...wrongSecret(), grant_type: 'refresh_token', refresh_token: guess('urt_', 130) }, 401),
  'token: a guessed refresh token of a public client': () =>
    post(
      '/oidc/token',
      { client_id: publicTenant.clientId, grant_type: 'refresh_token', refresh_token: guess('urt_', 130) },
      400,
    ),
  'token: a form of 16 KiB': () => post('/oidc/token', { a: 'x'.repeat(16_000) }, 400),
  'introspect: a wrong secret': () => post('/oidc/introspect', { ...wrongSecret(), token: guess('uat_', 82) }, 401),
  'revoke: a wrong secret': () => post('/oidc/revoke', { ...wrongSecret(), token: guess('uat_', 82) }, 401),
  'revoke: a guessed token of a public client': () =>
    post('/oidc/revoke', { client_id: publicTenant.clientId, token: guess('uat_', 82) }, 200),
  'userinfo: a guessed token': () => ({
    path: '/oidc/userinfo',
    headers: { authorization: `Bearer ${guess('uat_', 82)}` },
    status: 401,
  }),
};

interface Cost {
  readonly serverMicros: number;
  readonly postgresMicros: number;
  readonly bytes: number;
}

const costs = new Map<string, Cost[]>();
const medians = (name: string) => {
  const rounds = costs.get(name) ?? [];
  const median = (read: (cost: Cost) => number) => medianOf(rounds.map(read));
  return {
    serverMicros: median(({ serverMicros }) => serverMicros),
    postgresMicros: median(({ postgresMicros }) => postgresMicros),
    bytes: median(({ bytes }) => bytes),
  };
};

beforeAll(
  async () => {
    const server = { name: 'usher', pid: usher.pid, ports: { '1.1': usher.port, '2': usher.port } } as const;
    const meter = new Meter(stack, server, { databaseUrl: database.url, concurrency: 8 });
    const measure = async (attack: Attack): Promise<Cost> => {
      let bytes = 0;
      const run = async (client: Client) => {
        const { status, ...sent } = attack();
        const reply = await sendUntil(client, sent, status);
        bytes += reply.bytes.length + JSON.stringify(reply.headers).length;
      };
      const cost = await meter.measure(REQUESTS, run);
      return { ...cost, bytes: bytes / REQUESTS };
    };
    for (let round = quickOrLong(1, 0); round <= ROUNDS; round++)
      for (const [name, attack] of Object.entries(ATTACKS)) {
        if (attack().status === 429) await useUp(attack);
        const cost = await measure(attack);
        // The first round of the long form compiles.
        if (round > 0) costs.set(name, [...(costs.get(name) ?? []), cost]);
      }
  },
  quickOrLong(900_000, 3_600_000),
);

test.for(Object.keys(ATTACKS))('%s costs no more than a few requests for nothing', (name, context) => {
  const { serverMicros, postgresMicros, bytes } = medians(name);
  const ratio = serverMicros / medians(NOTHING).serverMicros;
  const figures = `${serverMicros.toFixed(0)} us of Usher (${ratio.toFixed(1)}x), ${postgresMicros.toFixed(0)} of Postgres; ${bytes.toFixed(0)} bytes`;
  report(context, { tried: name, figures });
  if (quickOrLong(false, true)) expect(ratio, figures).toBeLessThan(MAX_RATIO);
  expect(bytes, figures).toBeLessThan(MAX_BYTES);
});

/** Takes all permits that the network has for the request. */
async function useUp(attack: Attack): Promise<void> {
  for (let batch = 0; batch < 100; batch++) {
    const replies = await Promise.all(Array.from({ length: 20 }, () => request(usher.url, attack())));
    if (replies.some(({ status }) => status === 429)) return;
  }
  expect.unreachable('The network has no limit');
}

/** Sends the request until it has the status: a network has got permits back if the machine has paused. */
async function sendUntil(client: Client, sent: HttpRequest, status: number): Promise<HttpReply> {
  for (let more = status === 429 ? PERMITS : 0; more > 0; more--) {
    const reply = await client.send(sent, status).catch(() => undefined);
    if (reply) return reply;
  }
  return client.send(sent, status);
}
