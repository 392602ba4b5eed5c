/** Interface, "3. Get Webhook by ID". */
import type { JsonObject } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { CALLERS } from '../support/callers.ts';
import { request } from '../support/http.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
  type TestUser,
} from '../support/service.ts';
import {
  CONNECT_JSON_WIRES,
  comparable,
  failureOf,
  RPC_WIRES,
  sendOver,
  WIRES,
  withInvalidUtf8,
} from '../support/wire.ts';

const { getWebhook } = WebhookService.method;
const NOW = '2026-03-01T12:00:00.120Z';
const WEBHOOK_URL = 'https://hooks.test/usher?a=b';

let service: TestService;
let tenant: Tenant;
let other: Tenant;
let owner: TestUser;
let webhook: { webhookId: string; signingKey: string };
let foreignId: string;

beforeAll(async () => {
  service = await startTestService({ clock: () => new Date(NOW) });
  tenant = await createTenant(service, { name: 'Test & <application>' });
  other = await createTenant(service, { name: 'Other' });
  owner = await createTestUser(service, { name: 'Ada Lovelace' });
  webhook = await createWebhook(tenant, owner);
  foreignId = (await createWebhook(other, owner)).webhookId;
});

afterAll(() => service.close());

const credentials = () => ({ 'x-api-key': tenant.apiKey });
const unknownId = `wh_${'0'.repeat(32)}`;

async function createWebhook(of: Tenant, { id }: TestUser): Promise<{ webhookId: string; signingKey: string }> {
  const { webhook: created } = await clientsOf(service, of).webhooks.createWebhook({ url: WEBHOOK_URL, ownerId: id });
  if (!created) throw new Error('No webhook');
  return { webhookId: created.webhookId, signingKey: created.signingKey };
}

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

describe.each(CALLERS)('GetWebhook, $name', (caller) => {
  const callWith = (fields: JsonObject, headers: Record<string, string> = credentials()) =>
    caller.call(service.url, getWebhook, fields, headers);
  const wrap = (data: JsonObject) =>
    caller.isRest ? success(data, 'Webhook retrieved successfully') : success({ webhook: data });

  it('returns every documented field', async () => {
    expect(webhook.webhookId).toMatch(/^wh_[0-9a-f]{32}$/);
    expect(webhook.signingKey).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await callWith({ webhookId: webhook.webhookId })).toEqual(wrap(resource()));
  });

  it('accepts the digits of the ID in upper case and returns them in lower case', async () => {
    const upperCase = `wh_${webhook.webhookId.slice(3).toUpperCase()}`;
    expect(upperCase).not.toBe(webhook.webhookId);
    expect(await callWith({ webhookId: upperCase })).toEqual(wrap(resource()));
  });

  it('returns isActive false for a webhook that is not active', async () => {
    const { webhookId, signingKey } = await createWebhook(tenant, owner);
    await service.database.sql`update webhooks set is_active = false where id = ${webhookId}`;
    const answer = await callWith({ webhookId });
    expect(answer).toEqual(wrap({ ...resource(), webhookId, signingKey, isActive: false }));
  });

  it('returns an empty name for an owner without one', async () => {
    const nameless = await createTestUser(service);
    const { webhookId, signingKey } = await createWebhook(tenant, nameless);
    const answer = await callWith({ webhookId });
    const data = { ...resource(), webhookId, signingKey, owner: { id: nameless.id, name: '', email: nameless.email } };
    expect(answer).toEqual(wrap(data));
  });

  it.each(['', 'wh_\0'])('400 Validation failed when the ID is %j', async (webhookId) => {
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
    ['is something else', () => 'webhook'],
  ])('400 Invalid webhook ID format when the ID %s', async (_, idOf) => {
    const answer = await callWith({ webhookId: idOf(webhook.webhookId.slice(3)) });
    expect(answer).toEqual(refusal('invalid_argument', 'Invalid webhook ID format'));
  });

  it.each<[string, () => string]>([
    ['belongs to another application', () => foreignId],
    ['does not exist', () => unknownId],
  ])('404 when the webhook %s', async (_, idOf) => {
    expect(await callWith({ webhookId: idOf() })).toEqual(refusal('not_found', 'Webhook not found'));
  });

  it('tells that the API key is wrong before anything of the ID', async () => {
    expect(await callWith({ webhookId: '' }, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
    expect(await callWith({ webhookId: 'webhook' }, {})).toEqual(refusal('unauthenticated', 'Invalid API key'));
  });

  it('tells that the format is wrong before whether there is such a webhook', async () => {
    const answer = await callWith({ webhookId: `${foreignId}0` });
    expect(answer).toEqual(refusal('invalid_argument', 'Invalid webhook ID format'));
  });
});

describe.each(WIRES)('GetWebhook, $name', (wire) => {
  const send = (webhookId: string) =>
    sendOver(wire, service.url, { method: getWebhook, fields: { webhookId }, headers: credentials() });

  it('answers for a foreign webhook byte for byte as for an unknown one', async () => {
    const [foreign, unknown] = await Promise.all([send(foreignId), send(unknownId)]);
    expect(failureOf(wire, foreign)).toMatchObject({ code: 'NotFound', message: 'Webhook not found' });
    expect(comparable(foreign)).toStrictEqual(comparable(unknown));
  });

  it('may not be stored, since a secret is in it', async () => {
    const reply = await send(webhook.webhookId);
    expect(reply).toMatchObject({ status: 200, headers: { 'cache-control': 'no-store' } });
    expect(reply.body.includes(webhook.signingKey)).toBe(true);
  });
});

describe.each(['1.1', '2'] as const)('GetWebhook, JSON over REST and HTTP/%s', (httpVersion) => {
  const get = (path: string) => request(service.url, { httpVersion, path, headers: credentials() });

  it('answers in the envelope', async () => {
    const reply = await get(`/api/webhooks/${webhook.webhookId}`);
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: true,
      message: 'Webhook retrieved successfully',
      data: resource(),
    });
  });

  it.each<[number, string, string]>([
    [400, 'Invalid webhook ID format', 'webhook'],
    [404, 'Webhook not found', unknownId],
  ])('answers %i %s with nothing but the message', async (status, message, webhookId) => {
    const reply = await get(`/api/webhooks/${webhookId}`);
    expect(reply).toMatchObject({
      status,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
    expect(JSON.parse(reply.body)).toStrictEqual({ status: false, message });
  });

  it.each([
    ['is empty', ''],
    ['is not UTF-8', '%FF'],
    ['has a broken percent-encoding', '%zz'],
    ['has an encoded surrogate', '%ED%A0%80'],
    ['has a NUL', '%00'],
  ])('400 Validation failed when the ID %s', async (_, segment) => {
    const reply = await get(`/api/webhooks/${segment}`);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.body)).toStrictEqual({
      status: false,
      message: 'Validation failed',
      errors: [{ field: 'webhookId', message: expect.stringMatching(/./) }],
    });
  });

  it('accepts an ID that is percent-encoded', async () => {
    const encoded = webhook.webhookId.replace('wh_', '%77%68%5F');
    const reply = await get(`/api/webhooks/${encoded}`);
    expect(JSON.parse(reply.body)).toMatchObject({ status: true, data: { webhookId: webhook.webhookId } });
  });

  it('ignores a query', async () => {
    const reply = await get(`/api/webhooks/${webhook.webhookId}?webhookId=${unknownId}`);
    expect(JSON.parse(reply.body)).toMatchObject({ status: true, data: { webhookId: webhook.webhookId } });
  });

  it.each([
    ['2026-03-01T12:00:00.000Z', '2026-03-01T12:00:01.000Z'],
    ['2026-03-01T12:00:00.005Z', '2026-03-02T00:00:00.010Z'],
    ['2026-03-01T12:00:00.500Z', '2027-01-01T00:00:00.999Z'],
  ])('writes times with three fractional digits, as in %s', async (createdAt, updatedAt) => {
    const { webhookId } = await createWebhook(tenant, owner);
    await service.database.sql`
      update webhooks set created_at = ${createdAt}, updated_at = ${updatedAt} where id = ${webhookId}`;
    const reply = await get(`/api/webhooks/${webhookId}`);
    expect(JSON.parse(reply.body)).toMatchObject({ status: true, data: { createdAt, updatedAt } });
  });
});

describe.each(CONNECT_JSON_WIRES)('GetWebhook, $name', (wire) => {
  it.each([[1], [true], [['text']], [{ text: 'text' }], [null], ['wh_\ud800']])(
    'Validation failed when the ID is %j',
    async (webhookId) => {
      const call = { method: getWebhook, fields: { webhookId }, headers: credentials() };
      expect(failureOf(wire, await sendOver(wire, service.url, call))).toEqual({
        status: 400,
        code: 'InvalidArgument',
        message: 'Validation failed',
        fields: ['webhookId'],
      });
    },
  );
});

describe.each(RPC_WIRES)('GetWebhook, $name', (wire) => {
  it('Validation failed when the ID is missing', async () => {
    const reply = await sendOver(wire, service.url, { method: getWebhook, fields: {}, headers: credentials() });
    expect(failureOf(wire, reply)).toMatchObject({
      code: 'InvalidArgument',
      message: 'Validation failed',
      fields: ['webhookId'],
    });
  });

  it('Validation failed when the ID is not UTF-8', async () => {
    const body = withInvalidUtf8(wire, getWebhook, {}, 'webhookId');
    const reply = await sendOver(wire, service.url, { method: getWebhook, body, headers: credentials() });
    expect(failureOf(wire, reply)).toMatchObject({ code: 'InvalidArgument', message: 'Validation failed' });
  });
});
