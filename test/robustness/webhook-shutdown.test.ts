/** Delivery by a process that is told to end. kill -9: webhook-loss.test.ts. */
import { afterAll, expect, test } from 'vitest';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { cloneDatabase } from '../support/database.ts';
import { startUsher } from '../support/process.ts';
import { clientsOf, createTenant, createTestUser } from '../support/service.ts';

const database = await cloneDatabase();
const receiver = await WebhookReceiver.open();
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

/** A busy machine may take seconds between any two steps. */
const PATIENT = { WEBHOOK_TIMEOUT_MS: '60000', SHUTDOWN_TIMEOUT_MS: '60000' };
const ENV = { WEBHOOK_DELIVERY: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...PATIENT };

test('SIGTERM lets the attempt in flight end and keeps its success, so that no other process makes it again', async () => {
  await using usher = await startUsher(database.url, ENV);
  const tenant = await createTenant(usher);
  const { webhooks, events } = clientsOf(usher, tenant);
  const fields = { url: `${receiver.url}/ending`, eventTypes: ['event.created'] };
  const { id: ownerId } = await createTestUser(usher, { applicationIds: [tenant.id] });
  const webhookId = (await webhooks.createWebhook({ ...fields, ownerId })).webhook?.webhookId ?? '';
  const { promise: ending, resolve: onEnding } = Promise.withResolvers<void>();
  receiver.respond = async (_, response) => {
    await ending;
    response.writeHead(204).end();
  };
  await events.createEvent({ eventId: 'e' });
  await expect.poll(() => receiver.at('/ending').length).toBe(1);
  const ended = usher.end('SIGTERM');
  setTimeout(onEnding, 300);
  await ended;
  const rows = await database.sql`select status from webhook_deliveries where webhook_id = ${webhookId}`;
  expect(rows).toEqual([{ status: 'succeeded' }]);
  expect(receiver.at('/ending')).toHaveLength(1);
});
