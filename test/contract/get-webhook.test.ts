/** Interface, "3. Get Webhook by ID". */
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { request } from '../support/http.ts';
import { answerOf, CONNECT, call, comparable, PROTOCOLS, REST, send } from '../support/protocols.ts';
import {
  createTenant,
  createTestUser,
  createTestWebhook,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';

const { getWebhook } = WebhookService.method;
const NOW = '2026-03-01T12:00:00.120Z';
const WEBHOOK_URL = 'https://hooks.test/usher?a=b';
const UNKNOWN_ID = `wh_${'0'.repeat(32)}`;

let service: TestService;
let tenant: Tenant;
let owner: TestUser;
let webhook: { webhookId: string; signingKey: string };
let foreignId: string;

beforeAll(async () => {
  service = await startTestService({ clock: () => new Date(NOW) });
  tenant = await createTenant(service, { name: 'Test & <application>' });
  owner = await createTestUser(service, { name: 'Ada Lovelace' });
  webhook = await createTestWebhook(service, tenant, { ownerId: owner.id, url: WEBHOOK_URL });
  const other = await createTenant(service, { name: 'Other' });
  foreignId = (await createTestWebhook(service, other)).webhookId;
});

afterAll(() => service.close());

const credentials = () => ({ 'x-api-key': tenant.apiKey });
const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
  call(REST, service.url, getWebhook, fields, headers);

/** The documented resource, every field of it. */
const resource = (): JsonObject => ({
  webhookId: webhook.webhookId,
  signingKey: webhook.signingKey,
  url: WEBHOOK_URL,
  isActive: true,
  application: { id: tenant.id, name: tenant.name, clientId: tenant.clientId },
  owner: { id: owner.id, name: 'Ada Lovelace', email: owner.email },
  createdAt: NOW,
  updatedAt: NOW,
});

describe('GetWebhook', () => {
  it('returns every documented field', async () => {
    const fields = { webhookId: webhook.webhookId };
    expect(webhook.signingKey).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await callWith(fields)).toEqual(success(resource(), 'Webhook retrieved successfully'));
    const overRpc = await call(CONNECT, service.url, getWebhook, fields, credentials());
    expect(overRpc).toEqual(success({ webhook: resource() }));
  });

  it('accepts the digits of the ID in upper case and returns them in lower case', async () => {
    const upperCase = `wh_${webhook.webhookId.slice(3).toUpperCase()}`;
    expect(upperCase).not.toBe(webhook.webhookId);
    expect((await callWith({ webhookId: upperCase })).data).toEqual(resource());
  });

  it('returns isActive false for a webhook that is not active', async () => {
    const { webhookId } = await createTestWebhook(service, tenant);
    await service.database.sql`update webhooks set is_active = false where id = ${webhookId}`;
    expect((await callWith({ webhookId })).data).toMatchObject({ webhookId, isActive: false });
    const overRpc = await call(CONNECT, service.url, getWebhook, { webhookId }, credentials());
    expect(overRpc.data).toMatchObject({ webhook: { webhookId, isActive: false } });
  });

  it('returns an empty name for an owner without one', async () => {
    const { id, email } = await createTestUser(service);
    const { webhookId } = await createTestWebhook(service, tenant, { ownerId: id });
    expect((await callWith({ webhookId })).data).toMatchObject({ owner: { id, name: '', email } });
  });

  it.each(['', 'wh_\0'])('returns 400 Validation failed when the ID is %j', async (webhookId) => {
    expect(await callWith({ webhookId })).toEqual(validationFailed('webhookId'));
  });

  it.each<[string, (digits: string) => string]>([
    ['has 31 digits', (digits) => `wh_${digits.slice(1)}`],
    ['has 33 digits', (digits) => `wh_${digits}0`],
    ['has a letter that is no digit', (digits) => `wh_g${digits.slice(1)}`],
    ['has a full-width digit', (digits) => `wh_\uff10${digits.slice(1)}`],
    ['has no prefix', (digits) => digits],
    ['has another prefix', (digits) => `wk_${digits}`],
    ['has its prefix in upper case', (digits) => `WH_${digits}`],
    ['has a capital in its prefix', (digits) => `Wh_${digits}`],
    ['has a hyphen in its prefix', (digits) => `wh-${digits}`],
    ['has a space before it', (digits) => ` wh_${digits}`],
    ['has a line break after it', (digits) => `wh_${digits}\n`],
    ['has a slash in it', (digits) => `wh_${digits.slice(16)}/${digits.slice(17)}`],
    ['is its prefix only', () => 'wh_'],
  ])('returns 400 Invalid webhook ID format when the ID %s', async (_, idOf) => {
    const answer = await callWith({ webhookId: idOf(webhook.webhookId.slice(3)) });
    expect(answer).toEqual(refusal('invalid_argument', 'Invalid webhook ID format'));
  });

  it('checks the API key first, then the format of the ID, then the webhook', async () => {
    const invalidKey = refusal('unauthenticated', 'Invalid API key');
    expect(await callWith({ webhookId: '' }, {})).toEqual(invalidKey);
    expect(await callWith({ webhookId: 'webhook' }, {})).toEqual(invalidKey);
    const answer = await callWith({ webhookId: `${foreignId}0` });
    expect(answer).toEqual(refusal('invalid_argument', 'Invalid webhook ID format'));
  });

  it.each(PROTOCOLS)('answers for a foreign webhook byte for byte as for an unknown one: $name', async (protocol) => {
    const [foreign, unknown] = await Promise.all(
      [foreignId, UNKNOWN_ID].map((webhookId) =>
        send(protocol, service.url, { method: getWebhook, fields: { webhookId }, headers: credentials() }),
      ),
    );
    if (!foreign || !unknown) throw new Error('No reply');
    expect(answerOf(protocol, getWebhook, foreign)).toEqual(refusal('not_found', 'Webhook not found'));
    expect(comparable(foreign)).toStrictEqual(comparable(unknown));
  });
});

describe('GET /api/webhooks/:webhookId', () => {
  const get = (path: string) => request(service.url, { path: `/api/webhooks/${path}`, headers: credentials() });

  it('answers in the envelope', async () => {
    const reply = await get(webhook.webhookId);
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    const message = 'Webhook retrieved successfully';
    expect(JSON.parse(reply.body)).toStrictEqual({ status: true, message, data: resource() });
  });

  it.each([
    [400, 'Invalid webhook ID format', 'webhook'],
    [404, 'Webhook not found', UNKNOWN_ID],
  ])('answers %i %s with nothing but the message', async (status, message, webhookId) => {
    const reply = await get(webhookId);
    expect(reply).toMatchObject({ status, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
  });

  it.each([
    ['is empty', ''],
    ['is not UTF-8', '%FF'],
    ['has a broken percent-encoding', '%zz'],
    ['has an encoded surrogate', '%ED%A0%80'],
    ['has a NUL', '%00'],
  ])('answers 400 Validation failed when the ID %s', async (_, segment) => {
    const reply = await get(segment);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: false,
      message: 'Validation failed',
      errors: [{ field: 'webhookId', message: expect.stringMatching(/./) }],
    });
  });

  it('accepts an ID that is percent-encoded, and ignores a query', async () => {
    const encoded = webhook.webhookId.replace('wh_', '%77%68%5F');
    const reply = await get(`${encoded}?webhookId=${UNKNOWN_ID}`);
    expect(JSON.parse(reply.body)).toMatchObject({ status: true, data: { webhookId: webhook.webhookId } });
  });

  it.each([
    ['2026-03-01T12:00:00.000Z', '2026-03-01T12:00:01.000Z'],
    ['2026-03-01T12:00:00.500Z', '2027-01-01T00:00:00.999Z'],
  ])('writes times with three fractional digits, as in %s', async (createdAt, updatedAt) => {
    const { webhookId } = await createTestWebhook(service, tenant);
    await service.database.sql`
      update webhooks set created_at = ${createdAt}, updated_at = ${updatedAt} where id = ${webhookId}`;
    const reply = await get(webhookId);
    expect(JSON.parse(reply.body)).toMatchObject({ status: true, data: { createdAt, updatedAt } });
  });
});
