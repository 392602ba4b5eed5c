/** Messages from the change to the endpoint. */
import { afterAll, expect, test } from 'vitest';
import { clientsOf, createTenant, createTestUser, startTestService } from '../support/service.ts';
import { verify, WebhookReceiver } from '../support/webhook-receiver.ts';

const service = await startTestService({
  config: { webhookDelivery: true, webhookAllowedNetworks: ['127.0.0.0/8'], requestTimeoutMs: 60_000 },
});
const receiver = await WebhookReceiver.open();
afterAll(async () => {
  await service.close();
  await receiver[Symbol.asyncDispose]();
});
const owner = await createTestUser(service);

test('tells of events and check-ins', async () => {
  const tenant = await createTenant(service);
  const { webhooks, events } = clientsOf(service, tenant);
  const { webhook } = await webhooks.createWebhook({
    url: `${receiver.url}/all`,
    ownerId: owner.id,
    eventTypes: ['*'],
  });

  await events.createEvent({ eventId: 'e-1', name: 'Sommer "Fest" é' });
  await events.createEvent({ eventId: 'e-2' });
  await events.checkIn({ eventId: 'e-1', attendeeId: 'ada' });
  await events.checkIn({ eventId: 'e-1', attendeeId: 'ada' });
  await events.deleteEvent({ eventId: 'e-1' });
  await expect.poll(() => receiver.at('/all').length).toBe(4);
  const received = receiver.at('/all');
  for (const message of received) expect(verify(message, webhook?.signingKey ?? '')).toEqual(message.json);
});
