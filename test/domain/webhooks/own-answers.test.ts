/** Answers of changes of a webhook show what the change has made, whatever others make of it at once. */
import { afterAll, expect, test } from 'vitest';
import { LAYOUT } from '../../support/database.ts';
import { clientsOf, createTenant, createTestWebhook, startTestService } from '../../support/service.ts';

const service = await startTestService();
afterAll(() => service.close());

/** Citus has no triggers on distributed tables. */
const testByTrigger = test.skipIf(LAYOUT === 'distributed');

/** Lets something happen to the webhook as soon as a change of it is committed. */
async function afterChange(webhookId: string, statement: string): Promise<void> {
  await service.database.sql.unsafe(`
    create function change_${webhookId}() returns trigger language plpgsql as $$ begin
      ${statement};
      return null;
    end $$;
    create constraint trigger change_${webhookId} after update on webhooks deferrable initially deferred
      for each row when (new.id = '${webhookId}' and new.updated_at <> old.updated_at) execute function change_${webhookId}()`);
}

async function createWebhook() {
  const tenant = await createTenant(service);
  const { webhooks } = clientsOf(service, tenant);
  return { webhooks, ...(await createTestWebhook(service, tenant)) };
}

testByTrigger('UpdateWebhook answers the webhook that it has changed, though that is deleted at once', async () => {
  const { webhooks, webhookId, signingKey } = await createWebhook();
  await afterChange(webhookId, `delete from webhooks where id = '${webhookId}'`);
  const { webhook } = await webhooks.updateWebhook({ webhookId, description: 'mine' });
  expect(webhook).toMatchObject({ webhookId, description: 'mine', isActive: true, signingKey });
  expect(webhook?.owner?.email).toMatch(/@example.com$/);
  await expect(webhooks.getWebhook({ webhookId })).rejects.toThrow('Webhook not found');
});

testByTrigger('UpdateWebhook answers its own values, though others are set at once', async () => {
  const { webhooks, webhookId } = await createWebhook();
  await afterChange(webhookId, `update webhooks set description = 'of another' where id = '${webhookId}'`);
  expect((await webhooks.updateWebhook({ webhookId, description: 'mine' })).webhook?.description).toBe('mine');
  expect((await webhooks.getWebhook({ webhookId })).webhook?.description).toBe('of another');
});

test('UpdateWebhook without a change answers the webhook as it is', async () => {
  const { webhooks, webhookId } = await createWebhook();
  const { webhook } = await webhooks.getWebhook({ webhookId });
  expect((await webhooks.updateWebhook({ webhookId })).webhook).toEqual(webhook);
});

testByTrigger('RotateSigningKey answers the key that it has made, though another is made at once', async () => {
  const { webhooks, webhookId, signingKey } = await createWebhook();
  await afterChange(webhookId, `update webhooks set signing_key = old.signing_key where id = '${webhookId}'`);
  const { webhook } = await webhooks.rotateSigningKey({ webhookId });
  expect(webhook?.signingKey).toMatch(/^whsec_/);
  expect(webhook?.signingKey).not.toBe(signingKey);
  expect((await webhooks.getWebhook({ webhookId })).webhook?.signingKey).toBe(signingKey);
});
