/** Interface, "3. Get Webhook by ID". */
import type { JsonObject } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { request } from '../support/http.ts';
import { answerOf, CONNECT, call, REST } from '../support/protocols.ts';
import { createTestUser, createTestWebhook } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const { getWebhook } = WebhookService.method;
const NOW = '2026-03-01T12:00:00.120Z';
const WEBHOOK_URL = 'https://hooks.test/usher?a=b';
const UNKNOWN_ID = `wh_${'0'.repeat(32)}`;

const { service, tenant, other, credentials, callWith } = await openContractFixture({ clock: () => new Date(NOW) });
const owner = await createTestUser(service, { name: 'Ada Lovelace' });
const { webhookId, signingKey } = await createTestWebhook(service, tenant, { ownerId: owner.id, url: WEBHOOK_URL });
const digits = webhookId.slice(3);
const { webhookId: foreignId } = await createTestWebhook(service, other);

const get = (id: string) => callWith(getWebhook, { webhookId: id });
const getOverRpc = (id: string) => call(CONNECT, service.url, getWebhook, { webhookId: id }, credentials);
const getPath = async (segment: string) => {
  const reply = await request(service.url, { path: `/api/webhooks/${segment}`, headers: credentials });
  return answerOf(REST, getWebhook, reply);
};

/** The documented resource, every field of it. */
const resource: JsonObject = {
  webhookId,
  signingKey,
  url: WEBHOOK_URL,
  isActive: true,
  application: { id: tenant.id, name: tenant.name, clientId: tenant.clientId },
  owner: { id: owner.id, name: 'Ada Lovelace', email: owner.email },
  createdAt: NOW,
  updatedAt: NOW,
};
const found = success(resource, 'Webhook retrieved successfully');

it('returns every documented field', async () => {
  expect(signingKey).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await get(webhookId)).toStrictEqual(found);
  expect(await getOverRpc(webhookId)).toEqual(success({ webhook: { ...resource, eventTypes: [], ordered: false } }));
});

it('accepts the digits of the ID in upper case and returns them in lower case', async () => {
  expect(digits.toUpperCase()).not.toBe(digits);
  expect(await get(`wh_${digits.toUpperCase()}`)).toEqual(found);
});

it('accepts an ID that is percent-encoded, and ignores a query', async () => {
  expect(await getPath(`%77%68%5F${digits}?webhookId=${UNKNOWN_ID}`)).toEqual(found);
});

it('returns isActive false for a webhook that is not active, and an empty name for an owner without one', async () => {
  const { id, email } = await createTestUser(service);
  const { webhookId: inactive } = await createTestWebhook(service, tenant, { ownerId: id });
  await service.database.sql`update webhooks set is_active = false where id = ${inactive}`;
  const expected = { webhookId: inactive, isActive: false, owner: { id, name: '', email } };
  expect((await get(inactive)).data).toMatchObject(expected);
  expect((await getOverRpc(inactive)).data).toMatchObject({ webhook: expected });
});

it.each([
  ['2026-03-01T12:00:00.000Z', '2026-03-01T12:00:01.000Z'],
  ['2026-03-01T12:00:00.500Z', '2027-01-01T00:00:00.999Z'],
])('writes times with three fractional digits, as in %s', async (createdAt, updatedAt) => {
  const { webhookId: id } = await createTestWebhook(service, tenant);
  await service.database.sql`
    update webhooks set created_at = ${createdAt}, updated_at = ${updatedAt} where id = ${id}`;
  expect((await get(id)).data).toMatchObject({ createdAt, updatedAt });
});

it('returns 400 Validation failed when the ID is empty', async () => {
  expect(await get('')).toEqual(validationFailed('webhookId'));
});

// Malformed path segments: test/robustness/rest-malformed.test.ts.
it.each([
  ['has 31 digits', `wh_${digits.slice(1)}`],
  ['has 33 digits', `wh_${digits}0`],
  ['has 33 digits, of which 32 are those of a foreign webhook', `${foreignId}0`],
  ['has a letter that is no digit', `wh_g${digits.slice(1)}`],
  ['has a full-width digit', `wh_\uff10${digits.slice(1)}`],
  ['has no prefix', digits],
  ['has its prefix in upper case', `WH_${digits}`],
  ['has a hyphen in its prefix', `wh-${digits}`],
  ['has a space before it', ` wh_${digits}`],
  ['has a line break after it', `wh_${digits}\n`],
  ['has a slash in it', `wh_${digits.slice(16)}/${digits.slice(17)}`],
  ['is its prefix only', 'wh_'],
  ['has NUL after it', `wh_${digits}\0`],
])('returns 400 Invalid webhook ID format when the ID %s', async (_, id) => {
  expect(await get(id)).toEqual(refusal('invalid_argument', 'Invalid webhook ID format'));
});

// Over every protocol, byte for byte: test/robustness/tenant-isolation.test.ts.
it.each([foreignId, UNKNOWN_ID])('returns 404 for a foreign or unknown webhook', async (id) => {
  expect(await get(id)).toEqual(refusal('not_found', 'Webhook not found'));
});
