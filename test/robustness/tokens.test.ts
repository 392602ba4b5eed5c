/** Attacks on auth tokens, sent to a running service over REST and gRPC. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { refusal } from '../support/answers.ts';
import { cloneDatabase } from '../support/database.ts';
import { generateIssuerKey, type IssuerKey } from '../support/issuer.ts';
import { answerOf, comparable, type Protocol, protocolNamed, REST, send } from '../support/protocols.ts';
import { createTenant, createTestUser, PUBLIC_URL, startTestService, testConfig } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { attacksOn } from '../support/token-attacks.ts';
import { createTokenForge } from '../support/token-forge.ts';

const NOW = new Date('2026-03-01T12:00:00.250Z');
const CHANGES = quickOrLong(30, 5_000);
const SEED = Number(process.env.HOSTILE_SEED ?? quickOrLong(1, Date.now() % 1e9));

/** Adds, removes or replaces characters, or repeats a part of the token. */
const changes: fc.Arbitrary<(token: string) => string> = fc
  .tuple(fc.nat(), fc.nat(40), fc.constantFrom('', ...'AZaz09-_+/=. \n%é'), fc.boolean(), fc.boolean())
  .map(([index, length, character, isRepeated, isRemoved]) => (token) => {
    const at = index % token.length;
    const added = isRepeated ? token.slice(at, at + length) : character;
    // An empty token fails validation instead.
    return token.slice(0, at) + added + token.slice(isRemoved ? at + length : at) || 'x';
  });

const ours = { EdDSA: generateIssuerKey('EdDSA', 'edwards-key'), ES256: generateIssuerKey('ES256', 'curve-key') };

const database = await cloneDatabase();
const config = testConfig(database.url);
const secrets = { ...config.secrets, authSigningKeys: Object.values(ours).map(toPrivateJwk) };
const service = await startTestService({ database, like: { ...config, secrets }, clock: () => NOW });
const tenant = await createTenant(service);
const user = await createTestUser(service);

afterAll(async () => {
  await service.close();
  await database[Symbol.asyncDispose]();
});

const { exchangeToken } = AuthService.method;

function exchange(protocol: Protocol, authToken: string) {
  return send(protocol, service.url, {
    method: exchangeToken,
    fields: { authToken },
    headers: { 'x-api-key': tenant.apiKey },
  });
}

function forgeWith(alg: keyof typeof ours) {
  return createTokenForge({
    key: ours[alg],
    otherKey: ours[alg === 'EdDSA' ? 'ES256' : 'EdDSA'],
    issuer: PUBLIC_URL,
    clientId: tenant.clientId,
    userId: user.id,
    second: Math.floor(NOW.getTime() / 1000),
  });
}

const ALGORITHMS = ['EdDSA', 'ES256'] as const;
const protocols = [REST, protocolNamed('gRPC over HTTP/2')];

describe.each(protocols)('over $name', (protocol) => {
  let refused: ReturnType<typeof comparable>;
  beforeAll(async () => {
    refused = comparable(await exchange(protocol, 'not-a-token'));
  });

  // A protocol only carries the token: in the short form, one sends every attack on every key.
  const isWhole = protocol === REST || quickOrLong(false, true);
  describe.each(isWhole ? ALGORITHMS : ALGORITHMS.slice(0, 1))('a token signed with %s', (alg) => {
    it('is accepted when valid', async () => {
      const reply = await exchange(protocol, forgeWith(alg).token());
      expect(answerOf(protocol, exchangeToken, reply)).toMatchObject({ data: { user: { email: user.email } } });
    });

    it.each(isWhole ? attacksOn(alg) : attacksOn(alg).slice(-1))('is refused with %s', async (_, attack) => {
      const reply = await exchange(protocol, attack(forgeWith(alg)));
      expect(answerOf(protocol, exchangeToken, reply)).toEqual(refusal('unauthenticated', 'Invalid or expired token'));
      expect(comparable(reply)).toEqual(refused);
    });

    it(`is refused with any change, ${CHANGES} tried`, async (context) => {
      const valid = forgeWith(alg).token();
      const others: string[] = [];
      for (const change of fc.sample(changes, { seed: SEED, numRuns: CHANGES })) {
        const token = change(valid);
        if (token === valid) continue;
        const reply = comparable(await exchange(protocol, token));
        if (!isDeepStrictEqual(reply, refused)) others.push(`${token}: ${JSON.stringify(reply)}`);
      }
      report(context, {
        tried: `${CHANGES} changes of a token signed with ${alg} over ${protocol.name}, seed ${SEED}`,
        lost: `${others.length} other answers`,
      });
      expect(others, `seed ${SEED}`).toEqual([]);
    });
  });

  // RFC 7518 allows both signatures, and issuers make both. Nothing is keyed on the text of a token.
  it('the other spelling (r, n - s) of an ES256 signature returns the same session', async () => {
    const forge = forgeWith('ES256');
    const token = forge.token();
    const usual = comparable(await exchange(protocol, token));
    expect(usual.body).toContain(user.email);
    expect(comparable(await exchange(protocol, forge.withTwinSignature(token)))).toEqual(usual);
    expect(await database.sql`select from sessions where user_id = ${user.id}`).toHaveLength(1);
  });
});

function toPrivateJwk({ privateKey, kid, alg }: IssuerKey) {
  return { ...privateKey.export({ format: 'jwk' }), kid, alg };
}
