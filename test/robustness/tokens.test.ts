/** Attacks on auth tokens, sent to a running service over REST and gRPC. */

import { isDeepStrictEqual } from 'node:util';
import { create, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExchangeTokenRequestSchema } from '../../gen/usher/v1/auth_pb.ts';
import { cloneDatabase, type TestDatabase } from '../support/database.ts';
import { type HttpClient, openHttpClient } from '../support/http.ts';
import { generateIssuerKey, ISSUER, type IssuerKey, JwksServer } from '../support/issuer.ts';
import { frame, type RawReply } from '../support/protocols.ts';
import {
  createTenant,
  createTestUser,
  PUBLIC_URL,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
  testConfig,
} from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { attacksOn } from '../support/token-attacks.ts';
import { TokenForge } from '../support/token-forge.ts';

const NOW = new Date('2026-03-01T12:00:00.250Z');

type Change = (token: string, at: number, length: number, character: string) => string;

const CHANGE_KINDS: readonly Change[] = [
  (token, at, _length, character) => token.slice(0, at) + character + token.slice(at + 1),
  (token, at, _length, character) => token.slice(0, at) + character + token.slice(at),
  (token, at) => token.slice(0, at) + token.slice(at + 1),
  (token, at) => token.slice(0, at),
  (token, at, length) => token.slice(0, at) + token.slice(at + length),
  (token, at, length) => token.slice(at, at + length) + token,
  (token, at, length) => token + token.slice(at, at + length),
  (token, at) => `${token.slice(0, at)}${token.slice(at).replace(/^./, (first) => first.toUpperCase())}`,
];

const CHANGES = quickOrLong(100, 5_000);
const SEED = Number(process.env.HOSTILE_SEED ?? Date.now() % 1e9);

/** Adds, removes or replaces characters, or repeats a part of the token. */
const changes: fc.Arbitrary<(token: string) => string> = fc
  .tuple(fc.nat(), fc.nat(), fc.constantFrom(...'AZaz09-_+/=. \n%é'), fc.constantFrom(...CHANGE_KINDS))
  .map(
    ([at, length, character, change]) =>
      (token) =>
        // An empty token fails validation instead.
        change(token, at % token.length, length % 40, character) || character,
  );

const ours = { EdDSA: generateIssuerKey('EdDSA', 'edwards-key'), ES256: generateIssuerKey('ES256', 'curve-key') };
const theirs = { EdDSA: generateIssuerKey('EdDSA', 'their-edwards'), ES256: generateIssuerKey('ES256', 'their-curve') };

let database: TestDatabase;
let jwks: JwksServer;
let service: TestService;
let tenant: Tenant;
let user: TestUser;

beforeAll(async () => {
  database = await cloneDatabase();
  jwks = await JwksServer.start(...Object.values(theirs));
  const config = testConfig(database.url, { AUTH_ISSUER: ISSUER, AUTH_JWKS_URL: jwks.url });
  const secrets = { ...config.secrets, authSigningKeys: Object.values(ours).map(toPrivateJwk) };
  service = await startTestService({ database, like: { ...config, secrets }, clock: () => NOW });
  tenant = await createTenant(service);
  user = await createTestUser(service);
});

afterAll(async () => {
  for (const client of clients.values()) client[Symbol.dispose]();
  await service.close();
  await jwks.stop();
  await database[Symbol.asyncDispose]();
});

interface Channel {
  readonly name: string;
  readonly httpVersion: '1.1' | '2';
  readonly path: string;
  readonly contentType: string;
  encode(authToken: string): string | Uint8Array;
  /** The documented replies, without headers. */
  readonly refusal: object;
  readonly invalid: object;
  readonly tooLarge: object;
}

const clients = new Map<Channel, HttpClient>();

const CHANNELS: readonly Channel[] = [
  {
    name: 'REST',
    httpVersion: '1.1',
    path: '/api/oauth/exchange',
    contentType: 'application/json',
    encode: (authToken) => JSON.stringify({ authToken }),
    refusal: { status: 401, text: '{"status":false,"message":"Invalid or expired token"}' },
    invalid: {
      status: 400,
      text: expect.stringMatching(
        /^{"status":false,"message":"Validation failed","errors":\[{"field":"authToken","message":"[^"]+"}\]}$/,
      ),
    },
    tooLarge: { status: 413, text: '{"status":false,"message":"Payload too large"}' },
  },
  {
    name: 'gRPC',
    httpVersion: '2',
    path: '/usher.v1.AuthService/ExchangeToken',
    contentType: 'application/grpc+proto',
    encode: (authToken) =>
      frame(toBinary(ExchangeTokenRequestSchema, create(ExchangeTokenRequestSchema, { authToken }))),
    refusal: grpcError(16, 'Invalid%20or%20expired%20token'),
    invalid: grpcError(3, 'Validation%20failed'),
    tooLarge: grpcError(8, expect.stringContaining('65536')),
  },
];

function grpcError(code: number, message: unknown) {
  return {
    status: 200,
    text: '',
    fields: expect.objectContaining({ 'grpc-status': String(code), 'grpc-message': message }),
  };
}

const exchange = async (channel: Channel, authToken: string) => {
  // Opened with its first call: the service closes a connection that stays unused for 7 s.
  const client = clients.get(channel) ?? openHttpClient(service.url, channel);
  clients.set(channel, client);
  const headers = { 'content-type': channel.contentType, 'x-api-key': tenant.apiKey };
  return client.send({ path: channel.path, headers, body: channel.encode(authToken) });
};

/** The reply without what differs between any two replies. */
function comparable({ status, headers, trailers, bytes }: RawReply) {
  const { date: _, 'x-request-id': __, 'keep-alive': ___, ...fields } = { ...headers, ...trailers };
  return { status, fields, text: bytes.toString('latin1') };
}

describe.each([
  ['ours', 'EdDSA', ours],
  ['ours', 'ES256', ours],
  ['of another issuer', 'EdDSA', theirs],
  ['of another issuer', 'ES256', theirs],
] as const)('a token %s, signed with %s,', (owner, alg, keys) => {
  const other = alg === 'EdDSA' ? 'ES256' : 'EdDSA';
  const forge = () =>
    new TokenForge({
      key: keys[alg],
      otherKey: keys[other],
      issuer: owner === 'ours' ? PUBLIC_URL : ISSUER,
      clientId: tenant.clientId,
      userId: user.id,
      second: Math.floor(NOW.getTime() / 1000),
    });

  describe.each(CHANNELS)('over $name', (channel) => {
    it('is accepted when valid', async () => {
      const { status, text } = comparable(await exchange(channel, forge().token()));
      expect(status).toBe(200);
      expect(text).toContain(user.email);
    });

    it.each(attacksOn(alg))('is refused with %s', async (_, attack) => {
      const reply = comparable(await exchange(channel, attack(forge())));
      expect(reply).toMatchObject(channel.refusal);
      expect(reply).toEqual(comparable(await exchange(channel, 'not-a-token')));
    });

    it.each([
      ['nothing', 0],
      ['8,193 bytes', 8_193],
      ['60,000 bytes', 60_000],
    ])('is invalid with %s', async (_, length) => {
      const token = forge().token().padEnd(length, 'A').slice(0, length);
      expect(comparable(await exchange(channel, token))).toMatchObject(channel.invalid);
    });

    it(`is refused with any change, ${CHANGES} tried`, async (context) => {
      const valid = forge().token();
      const refusal = comparable(await exchange(channel, 'not-a-token'));
      const accepted: string[] = [];
      for (const change of fc.sample(changes, { seed: SEED, numRuns: CHANGES })) {
        const token = change(valid);
        if (token === valid) continue;
        const reply = comparable(await exchange(channel, token));
        if (!isDeepStrictEqual(reply, refusal)) accepted.push(`${token}: ${JSON.stringify(reply)}`);
      }
      report(context, {
        tried: `${CHANGES} changes of a token ${owner}, signed with ${alg}, over ${channel.name}, seed ${SEED}`,
        lost: accepted.length === 0 ? 'nothing' : `${accepted.length} other answers`,
      });
      expect(accepted, `seed ${SEED}`).toEqual([]);
    });

    it('is too large with one megabyte', async () => {
      const token = forge().token().padEnd(1_000_000, 'A');
      expect(comparable(await exchange(channel, token))).toMatchObject(channel.tooLarge);
    });
  });
});

/**
 * RFC 7518 allows both signatures, and other issuers make both. Nothing is keyed on the text of a token, so a second
 * spelling gains nothing.
 */
describe.each(CHANNELS)('over $name', (channel) => {
  it('the other spelling (r, n - s) of an ES256 signature returns the same session', async () => {
    const forge = new TokenForge({
      key: ours.ES256,
      otherKey: ours.EdDSA,
      issuer: PUBLIC_URL,
      clientId: tenant.clientId,
      userId: user.id,
      second: Math.floor(NOW.getTime() / 1000),
    });
    const [usual, twin] = await Promise.all(
      [forge.token(), forge.withTwinSignature()].map(async (token) => comparable(await exchange(channel, token))),
    );
    expect(usual?.text).toContain(user.email);
    expect(twin).toEqual(usual);
    expect(await database.sql`select from sessions where user_id = ${user.id}`).toHaveLength(1);
  });
});

function toPrivateJwk({ privateKey, kid, alg }: IssuerKey) {
  return { ...privateKey.export({ format: 'jwk' }), kid, alg };
}
