/** An application may have so many webhooks. */
import { Code } from '@connectrpc/connect';
import { afterAll, expect, test } from 'vitest';
import { adminClient, clientsOf, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const service = await startTestService({ config: { webhooksPerApplication: 2 } });
afterAll(() => service.close());

async function openApplication() {
  const tenant = await createTenant(service);
  const { webhooks } = clientsOf(service, tenant);
  const { id: ownerId } = await createTestUser(service, { applicationIds: [tenant.id] });
  const create = async () => {
    const { webhook } = await webhooks.createWebhook({ url: 'https://hooks.test', ownerId, eventTypes: ['*'] });
    return webhook?.webhookId ?? '';
  };
  return { tenant, webhooks, create };
}

test('an application with as many webhooks as it may have gets no other one until it deletes one', async () => {
  const { tenant, webhooks, create } = await openApplication();
  await adminClient(service).updateApplication({
    applicationId: tenant.id,
    openIdConnect: true,
    backchannelLogoutUri: 'https://hooks.test/logout',
    updateMask: { paths: ['backchannel_logout_uri'] },
  });
  const webhookId = await create();
  await create();
  await expect(create()).rejects.toMatchObject({ code: Code.ResourceExhausted, rawMessage: 'Too many webhooks' });
  expect((await webhooks.listWebhooks({})).webhooks).toHaveLength(2);
  const other = await openApplication();
  await other.create();
  await webhooks.deleteWebhook({ webhookId });
  await create();
});
