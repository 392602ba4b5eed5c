/** Webhooks of applications. What endpoints receive: test/delivery. */
import type { JsonObject } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { refusal, success, validationFailed } from '../support/answers.ts';
import { request } from '../support/http.ts';
import { answerOf, CONNECT, call, REST } from '../support/protocols.ts';
import { createTestUser } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const { createWebhook, getWebhook, listDeliveries, listWebhooks, rotateSigningKey, sendTestMessage, updateWebhook } =
  WebhookService.method;
const NOW = '2026-03-01T12:00:00.120Z';
const LONGEST_URL = 'https://hooks.test/'.padEnd(2048, 'a');
const FIELDS = { url: 'https://hooks.test/usher?a=b', eventTypes: ['*'], ordered: true, description: 'Old' };

const { service, tenant, credentials, callWith } = await openContractFixture({ clock: () => new Date(NOW) });
const { sql } = service.database;
const owner = await createTestUser(service, { name: 'Ada Lovelace', applicationIds: [tenant.id] });

type Created = JsonObject & { webhookId: string; signingKey: string };

async function create(changes: JsonObject = {}): Promise<Created> {
  return (await callWith(createWebhook, { ...FIELDS, ownerId: owner.id, ...changes })).data as Created;
}

const get = (webhookId: string) => callWith(getWebhook, { webhookId });
const getOverRpc = (webhookId: string) => call(CONNECT, service.url, getWebhook, { webhookId }, credentials);

/** The documented resource, every field of it. */
function documented({ webhookId, signingKey }: Created) {
  return {
    webhookId,
    signingKey,
    url: FIELDS.url,
    isActive: true,
    application: { id: tenant.id, name: tenant.name, clientId: tenant.clientId },
    owner: { id: owner.id, name: 'Ada Lovelace', email: owner.email },
    createdAt: NOW,
    updatedAt: NOW,
  };
}

const webhook = await create();
const digits = webhook.webhookId.slice(3);
const found = success(documented(webhook), 'Webhook retrieved successfully');

describe('CreateWebhook', () => {
  it('returns an active webhook with an ID and a signing key of its own', async () => {
    const { data, ...answer } = await callWith(createWebhook, {
      url: FIELDS.url,
      ownerId: owner.id,
      eventTypes: ['*'],
    });
    const created = data as Created;
    const expected = { ...documented(created), eventTypes: ['*'], ordered: false };
    expect({ ...answer, data }).toEqual(success(expected, 'Webhook created successfully'));
    expect(created.webhookId).toMatch(/^wh_[0-9a-f]{32}$/);
    expect(created.signingKey).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(created.webhookId).not.toBe(webhook.webhookId);
    expect(created.signingKey).not.toBe(webhook.signingKey);
  });

  it('stores the signing key encrypted', async () => {
    const { webhookId, signingKey } = await create();
    const [row] = await sql`select signing_key from webhooks where id = ${webhookId}`;
    const stored: Buffer = row?.signing_key;
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.includes(signingKey)).toBe(false);
    expect(stored.includes(Buffer.from(signingKey.replace('whsec_', ''), 'base64'))).toBe(false);
  });

  it.each(['https://hooks.test', 'https://hooks.test:8443/a/b?c=d#e', 'https://8.8.8.8/', LONGEST_URL])(
    'keeps the URL %s as it was written',
    async (url) => {
      expect(await create({ url })).toMatchObject({ url });
    },
  );

  it.each([undefined, []])('refuses a webhook that would be sent nothing: event types %j', async (eventTypes) => {
    const fields = { url: FIELDS.url, ownerId: owner.id, ...(eventTypes && { eventTypes }) };
    expect(await callWith(createWebhook, fields)).toEqual(validationFailed('eventTypes'));
  });

  it('checks the fields before the owner', async () => {
    const fields = { url: '', ownerId: '00000000-0000-4000-8000-000000000000', eventTypes: ['*'] };
    expect(await callWith(createWebhook, fields)).toEqual(validationFailed('url'));
  });
});

describe('GetWebhook', () => {
  it('returns every documented field, and more over RPC', async () => {
    expect(await get(webhook.webhookId)).toStrictEqual(found);
    expect(await getOverRpc(webhook.webhookId)).toEqual(success({ webhook }));
  });

  it('accepts the digits of the ID in upper case and returns them in lower case', async () => {
    expect(await get(`wh_${digits.toUpperCase()}`)).toEqual(found);
  });

  it('accepts an ID that is percent-encoded, and ignores a query', async () => {
    const path = `/api/webhooks/%77%68%5F${digits}?webhookId=wh_${'0'.repeat(32)}`;
    expect(answerOf(REST, getWebhook, await request(service.url, { path, headers: credentials }))).toEqual(found);
  });

  it('returns isActive false for a webhook that is not active, and an empty name for an owner without one', async () => {
    const { id, email } = await createTestUser(service, { applicationIds: [tenant.id] });
    const { webhookId } = await create({ ownerId: id, isActive: false });
    const expected = { webhookId, isActive: false, owner: { id, name: '', email } };
    expect((await get(webhookId)).data).toMatchObject(expected);
    expect((await getOverRpc(webhookId)).data).toMatchObject({ webhook: expected });
  });

  it.each([
    ['2026-03-01T12:00:00.000Z', '2026-03-01T12:00:01.000Z'],
    ['2026-03-01T12:00:00.500Z', '2027-01-01T00:00:00.999Z'],
  ])('writes times with three fractional digits, as in %s', async (createdAt, updatedAt) => {
    const { webhookId } = await create();
    await sql`update webhooks set created_at = ${createdAt}, updated_at = ${updatedAt} where id = ${webhookId}`;
    expect((await get(webhookId)).data).toMatchObject({ createdAt, updatedAt });
  });

  // Malformed path segments: test/robustness/rest-malformed.test.ts.
  it.each([
    ['has 31 digits', `wh_${digits.slice(1)}`],
    ['has 33 digits', `wh_${digits}0`],
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
});

describe('UpdateWebhook', () => {
  /** The list has all that an update can change. GetWebhook has the documented ones. */
  async function read(webhookId: unknown): Promise<object | undefined> {
    const { webhooks } = (await callWith(listWebhooks, { pageSize: 100 })).data as { webhooks: JsonObject[] };
    return webhooks.find((webhook) => webhook.webhookId === webhookId);
  }

  it.each<[string, JsonObject, object]>([
    ['nothing without a field', {}, {}],
    ['a field that is there', { description: 'New' }, { description: 'New' }],
    [
      'several, to false and to an empty list',
      { isActive: false, eventTypes: [] },
      { isActive: false, eventTypes: [] },
    ],
    ['a field to none, with null', { description: null }, { description: undefined }],
  ])('over REST changes %s', async (_, fields, changes) => {
    const { updatedAt: _before, ...before } = await create();
    const { webhookId } = before;
    const answer = await callWith(updateWebhook, { webhookId, ...fields });
    const changed = { ...before, ...changes, updatedAt: expect.any(String) };
    expect(answer).toEqual(success(changed, 'Webhook updated successfully'));
    const { application: _application, signingKey: _key, ...shown } = answer.data as JsonObject;
    expect(await read(webhookId)).toEqual(shown);
  });

  it.each<[string, JsonObject, object]>([
    ['what the mask names', { url: 'https://hooks.test/b', ordered: false, updateMask: 'ordered' }, { ordered: false }],
    [
      'what the mask names and the request lacks to none',
      { updateMask: 'description,eventTypes' },
      { eventTypes: [], description: undefined },
    ],
  ])('over RPC changes %s', async (_, fields, changes) => {
    const { webhookId, ...before } = await create();
    const { data } = await call(CONNECT, service.url, updateWebhook, { webhookId, ...fields }, credentials);
    expect(data).toEqual({ webhook: { ...before, webhookId, ...changes, updatedAt: expect.any(String) } });
  });

  it.each<[JsonObject, string]>([
    [{ url: null }, 'url'],
    [{ isActive: null }, 'isActive'],
    [{ ownerId: null }, 'ownerId'],
    [{ description: 'New', url: 'ftp://hooks.test' }, 'url'],
  ])('with %o returns Validation failed, and changes nothing', async (fields, field) => {
    const { application: _application, signingKey: _key, ...before } = await create();
    expect(await callWith(updateWebhook, { webhookId: before.webhookId, ...fields })).toEqual(validationFailed(field));
    expect(await read(before.webhookId)).toEqual(before);
  });
});

// Its pages: lists.test.ts.
describe('ListDeliveries', async () => {
  const { webhookId } = await create();
  const send = async () => (await callWith(sendTestMessage, { webhookId })).data as { messageId: string };
  const STATUSES = ['pending', 'succeeded', 'failed'] as const;
  /** Of each status one of now and one of yesterday. */
  const sent = await Promise.all([...STATUSES, ...STATUSES].map(async (status) => ({ status, ...(await send()) })));
  for (const [index, { status, messageId }] of sent.entries()) {
    const at = index < STATUSES.length ? '2026-02-28T12:00:00Z' : NOW;
    await sql`
      update webhook_deliveries set status = ${status}, created_at = ${at}
      where webhook_id = ${webhookId} and message_id = ${messageId.slice('msg_'.length)}`;
  }
  const idsOf = async (fields: JsonObject) => {
    const { deliveries } = (await callWith(listDeliveries, { webhookId, ...fields })).data as {
      deliveries: { messageId: string }[];
    };
    return deliveries.map(({ messageId }) => messageId).toSorted();
  };
  const idsIn = (some: typeof sent) => some.map(({ messageId }) => messageId).toSorted();

  it.each(STATUSES)('returns those with the status %s', async (status) => {
    expect(await idsOf({ status })).toEqual(idsIn(sent.filter((each) => each.status === status)));
    const recent = sent.slice(STATUSES.length).filter((each) => each.status === status);
    expect(await idsOf({ status, since: '2026-03-01T00:00:00Z' })).toEqual(idsIn(recent));
  });

  it('returns those since the instant, and all without one', async () => {
    expect(await idsOf({})).toEqual(idsIn(sent));
    expect(await idsOf({ since: '2026-02-28T12:00:00Z' })).toEqual(idsIn(sent));
    expect(await idsOf({ since: '2026-02-28T12:00:00.001Z' })).toEqual(idsIn(sent.slice(STATUSES.length)));
    expect(await idsOf({ since: NOW })).toEqual(idsIn(sent.slice(STATUSES.length)));
  });
});

it('RotateSigningKey keeps two earlier keys of a webhook that have not ended, and none without an overlap', async () => {
  const [{ webhookId }, { webhookId: otherId }] = [await create(), await create()];
  const rotate = (of: string, fields: JsonObject = {}) => callWith(rotateSigningKey, { webhookId: of, ...fields });
  const keysOf = (of: string) => sql`select id from webhook_signing_keys where webhook_id = ${of}`;
  for (const of of [webhookId, webhookId, otherId, otherId]) expect(await rotate(of)).toMatchObject({ code: 'ok' });
  expect(await rotate(webhookId)).toEqual(refusal('already_exists', 'Too many signing keys'));
  const [key] = await keysOf(webhookId);
  await sql`update webhook_signing_keys set expires_at = ${NOW} where id = ${key?.id}`;
  expect(await rotate(webhookId)).toMatchObject({ code: 'ok' });
  expect(await rotate(webhookId, { overlapSeconds: 0 })).toMatchObject({ code: 'ok' });
  expect([await keysOf(webhookId), await keysOf(otherId)].map(({ length }) => length)).toEqual([0, 2]);
});
