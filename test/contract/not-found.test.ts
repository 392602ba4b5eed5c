/** What operations answer about what does not exist, or no longer. What others have: authentication.test.ts. */
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { UserService } from '../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { refusal } from '../support/answers.ts';
import { sampleFields } from '../support/samples.ts';
import {
  adminClient,
  clientsOf,
  createLoginIntent,
  createTenant,
  createTestEvent,
  createTestUser,
  createTestWebhook,
} from '../support/service.ts';
import { openContractFixture, UNKNOWN_ID } from './contract-fixture.ts';

const fixture = await openContractFixture();
const { service, tenant, callWith } = fixture;
const admin = adminClient(service);
const { events, webhooks } = clientsOf(service, tenant);

const deletedTenant = await createTenant(service);
const loginIntentId = await createLoginIntent(service, deletedTenant);
await admin.deleteApplication({ applicationId: deletedTenant.id });
const { apiKeyId } = await admin.createApiKey({ applicationId: tenant.id });
await admin.revokeApiKey({ apiKeyId });
// Of the application, which alone does not make a deleted user one to be found.
const { id: deletedUserId } = await createTestUser(service, { applicationIds: [tenant.id] });
await admin.deleteUser({ userId: deletedUserId });
const eventId = await createTestEvent(service, tenant);
await events.deleteEvent({ eventId });
const { webhookId } = await createTestWebhook(service, tenant);
await webhooks.deleteWebhook({ webhookId });

const { getApplication, updateApplication, deleteApplication, createApiKey, listApiKeys } = AdminService.method;
const { revokeApiKey, rotateApiKey, getLoginIntent, cancelLogin, completeLogin } = AdminService.method;
const { addApplicationUser, removeApplicationUser } = AdminService.method;
const { getUser, updateUser, deactivateUser, reactivateUser, deleteUser, eraseUser } = AdminService.method;
const ofUsers = [getUser, updateUser, deactivateUser, reactivateUser, deleteUser, UserService.method.getUser];
const { createWebhook, listWebhooks: _, ...ofWebhooks } = WebhookService.method;
const { createEvent: __, listEvents: ___, ...ofEvents } = EventService.method;
const applicationIds = [UNKNOWN_ID, deletedTenant.id];
const userIds = [UNKNOWN_ID, deletedUserId];

describe.each<[what: string, field: string, ids: string[], methods: DescMethodUnary[]]>([
  ['Application', 'applicationId', applicationIds, [getApplication, updateApplication, deleteApplication]],
  ['Application', 'applicationId', applicationIds, [createApiKey, listApiKeys]],
  ['Application', 'applicationId', applicationIds, [addApplicationUser, removeApplicationUser]],
  ['API key', 'apiKeyId', [UNKNOWN_ID, apiKeyId], [revokeApiKey, rotateApiKey]],
  ['API key', 'apiKeyId', [deletedTenant.apiKeyId], [rotateApiKey]],
  ['User', 'userId', userIds, [...ofUsers, completeLogin, addApplicationUser, removeApplicationUser]],
  ['User', 'ownerId', userIds, [createWebhook]],
  // It erases deleted users, too.
  ['User', 'userId', [UNKNOWN_ID], [eraseUser]],
  ['Login intent', 'loginIntentId', [UNKNOWN_ID, loginIntentId], [getLoginIntent, cancelLogin, completeLogin]],
  ['Webhook', 'webhookId', [`wh_${'0'.repeat(32)}`, webhookId], Object.values(ofWebhooks)],
  ['Event', 'eventId', ['no-such-event', eventId], Object.values(ofEvents)],
])('%s not found is the answer', (what, field, ids, methods) => {
  it.each(methods)('of $name to what is unknown, deleted or revoked', async (method) => {
    const fields = await sampleFields(method, fixture);
    for (const id of ids) {
      expect(await callWith(method, { ...fields, [field]: id }), id).toEqual(refusal('not_found', `${what} not found`));
    }
  });
});
