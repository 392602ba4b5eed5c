/** WebhookService/UpdateWebhook: what an update changes, and what it leaves as it is. */
import type { JsonObject } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { success, validationFailed } from '../support/answers.ts';
import { CONNECT, call, REST } from '../support/protocols.ts';
import { createTestUser } from '../support/service.ts';
import { openContractFixture } from './contract-fixture.ts';

const { createWebhook, listWebhooks, updateWebhook } = WebhookService.method;
const { service, credentials, callWith } = await openContractFixture();

const BEFORE = { url: 'https://hooks.test/a', eventTypes: ['*'], ordered: true, description: 'Old', isActive: true };

const ownerId = (await createTestUser(service)).id;

async function create(): Promise<JsonObject> {
  return (await callWith(createWebhook, { ownerId, ...BEFORE })).data as JsonObject;
}

/** The list has all that an update can change. GetWebhook has the documented ones. */
async function read(webhookId: unknown): Promise<object | undefined> {
  const { webhooks } = (await callWith(listWebhooks, {})).data as { webhooks: JsonObject[] };
  return webhooks.find((webhook) => webhook.webhookId === webhookId);
}

it.each<[string, JsonObject, object]>([
  ['nothing without a field', {}, {}],
  ['a field that is there', { description: 'New' }, { description: 'New' }],
  ['several, to false and to an empty list', { isActive: false, eventTypes: [] }, { isActive: false, eventTypes: [] }],
  ['a field to none, with null', { description: null }, { description: undefined }],
])('PATCH changes %s', async (_title, fields, changes) => {
  const { updatedAt: _before, ...before } = await create();
  const { webhookId = '' } = before;
  const answer = await call(REST, service.url, updateWebhook, { webhookId, ...fields }, credentials);
  const changed = Object.fromEntries(
    Object.entries({ ...before, ...changes, updatedAt: expect.any(String) }).filter(([, value]) => value !== undefined),
  );
  expect(answer).toEqual(success(changed as JsonObject, 'Webhook updated successfully'));
  const { application: _application, signingKey: _key, ...shown } = answer.data as JsonObject;
  expect(await read(webhookId)).toEqual(shown);
});

it.each<[string, JsonObject, JsonObject]>([
  ['what the mask names', { url: 'https://hooks.test/b', ordered: false, updateMask: 'ordered' }, { ordered: false }],
  ['what the mask names and the request lacks to none', { updateMask: 'description,eventTypes' }, { eventTypes: [] }],
])('an RPC changes %s', async (_, fields, changes) => {
  const { webhookId = '' } = await create();
  const { data } = await call(CONNECT, service.url, updateWebhook, { webhookId, ...fields }, credentials);
  const { description, ...others } = { ...BEFORE, ...changes };
  const clears = String(fields.updateMask).includes('description');
  expect(data).toMatchObject({ webhook: { ...others, ...(!clears && { description }) } });
  expect((data as { webhook: object }).webhook).not.toHaveProperty(clears ? 'description' : 'none');
});

it.each<[JsonObject, string]>([
  [{ url: null }, 'url'],
  [{ isActive: null }, 'isActive'],
  [{ ownerId: null }, 'ownerId'],
  [{ url: 'ftp://hooks.test' }, 'url'],
])('PATCH with %o returns Validation failed, and changes nothing', async (fields, field) => {
  const { application: _application, signingKey: _key, ...before } = await create();
  const { webhookId = '' } = before;
  expect(await call(REST, service.url, updateWebhook, { webhookId, ...fields }, credentials)).toEqual(
    validationFailed(field),
  );
  expect(await read(webhookId)).toEqual(before);
});
