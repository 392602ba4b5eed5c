/** The receiver of the README, as it is. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startExample } from '../../support/example-application.ts';
import { REPOSITORY } from '../../support/process.ts';
import { clientsOf, createTenant, createTestUser, startTestService } from '../../support/service.ts';

test('the receiver of the README prints what Usher sends, and refuses what Usher has not signed', async () => {
  await using service = await startTestService({
    config: { webhookDelivery: true, webhookAllowedNetworks: ['127.0.0.0/8'] },
  });
  const tenant = await createTenant(service);
  const { webhooks, events } = clientsOf(service, tenant);
  const { id: ownerId } = await createTestUser(service, { applicationIds: [tenant.id] });
  const { webhook } = await webhooks.createWebhook({ url: 'https://hooks.test', ownerId, eventTypes: ['*'] });
  const { webhookId = '', signingKey = '' } = webhook ?? {};

  const readme = await readFile(join(REPOSITORY, 'src/delivery/README.md'), 'utf8');
  const [, code = ''] = /```ts\n([\s\S]+?)```/.exec(readme) ?? [];
  const program = code.replace("'usher-client'", `'${join(REPOSITORY, 'src/client/verify-webhook.ts')}'`);
  const app = await startExample(['--input-type=module-typescript', '--eval', program], { SIGNING_KEY: signingKey });
  onTestFinished(app.close);

  await webhooks.updateWebhook({ webhookId, url: app.url });
  await events.createEvent({ eventId: 'e-1' });
  await expect.poll(app.output).toMatch(/^msg_\S+ event\.created \{ eventId: 'e-1'/m);
  const statusCodes = async () =>
    (await webhooks.listDeliveries({ webhookId })).deliveries.map(({ lastStatusCode }) => lastStatusCode);
  await expect.poll(statusCodes).toEqual([204]);
  const forged = await fetch(app.url, { method: 'POST', body: '{"type":"event.created","data":{}}' });
  expect(forged.ok).toBe(false);
});
