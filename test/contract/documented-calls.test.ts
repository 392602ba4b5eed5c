/**
 * The four documented calls answer byte for byte as they did before Usher had any others, but for the reasons of
 * errors, the keep-alive timeout, and the user ID, the sign-in, its assurance and the expiry that ExchangeToken tells of
 * over RPC. The table holds requests and replies as they were on the wire, in Latin-1, with names such as `<apiKey>` in
 * the place of values that vary.
 */
import { createPrivateKey } from 'node:crypto';
import { expect, it } from 'vitest';
import { TestClock } from '../support/clock.ts';
import { type HttpRequest, request } from '../support/http.ts';
import { signToken } from '../support/issuer.ts';
import { comparable } from '../support/protocols.ts';
import { createTestEvent, createTestUser, createTestWebhook, PUBLIC_URL } from '../support/service.ts';
import { lifeFrom } from '../support/token-forge.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';
import calls from './documented-calls.json' with { type: 'json' };

const NOW = new Date('2026-03-01T12:00:00.250Z');
const { service, tenant } = await openContractFixture({ clock: new TestClock(NOW).read });
const ada = await createTestUser(service, {
  email: 'ada@example.com',
  name: 'Ada Lovelace',
  profileImage: 'https://img.test/ada.png',
  walletAddress: '0xada',
});
const bob = await createTestUser(service, { email: 'bob@example.com', walletAddress: '0xb0b' });
const webhook = await createTestWebhook(service, tenant, { ownerId: ada.id, url: 'https://hooks.test/usher?a=b' });
// The recorded calls create webhooks without event types.
await service.database.sql`update webhooks set event_types = '{}'`;
for (let event = 1; event <= 3; event++) await createTestEvent(service, tenant, `event-${event}`);

const values = {
  apiKey: tenant.apiKey,
  applicationId: tenant.id,
  clientId: tenant.clientId,
  webhookId: webhook.webhookId,
  signingKey: webhook.signingKey,
  adaId: ada.id,
  adaToken: signTokenFor(ada.id),
  bobToken: signTokenFor(bob.id),
  nobodyToken: signTokenFor(UNKNOWN_ID),
};

it.each(calls)('$name', async ({ request: recorded, reply }) => {
  const { body, ...head } = JSON.parse(fillIn(JSON.stringify(recorded)));
  const sent: HttpRequest = { ...head, body: body && Buffer.from(body, 'latin1') };
  const answer = comparable(await request(service.url, sent));
  expect(JSON.parse(takeOut(JSON.stringify(answer)))).toEqual(reply);
});

/** Returns a token with the claims that tokens had when the table was recorded. */
function signTokenFor(userId: string): string {
  const [jwk] = service.config.secrets.authSigningKeys ?? [];
  const key = { alg: 'EdDSA', privateKey: createPrivateKey({ key: { ...jwk }, format: 'jwk' }) } as const;
  const life = lifeFrom(Math.floor(NOW.getTime() / 1000));
  const claims = { iss: PUBLIC_URL, aud: tenant.clientId, sub: userId, jti: UNKNOWN_ID, ...life };
  return signToken({ alg: 'EdDSA', typ: 'login+jwt', kid: jwk?.kid }, claims, key);
}

function fillIn(text: string): string {
  return Object.entries(values).reduce((filled, [name, value]) => filled.replaceAll(`<${name}>`, value), text);
}

/** The IDs that are left are new ones, of login intents and sessions. */
function takeOut(text: string): string {
  const known = Object.entries(values).reduce((left, [name, value]) => left.replaceAll(value, `<${name}>`), text);
  return known.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<newId>');
}
