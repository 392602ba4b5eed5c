/** Endpoints whose process has died: another one goes on within seconds, whatever an attempt may take. */
import { afterAll, expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { startUsher } from '../support/process.ts';
import { clientsOf, createTenant, createTestUser } from '../support/service.ts';
import { report } from '../support/soak.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';

const ATTEMPT_TIMEOUT_MS = 60_000;
/** A lease, and the polls and statements of the process that takes over. */
const SILENCE_MS = ATTEMPT_TIMEOUT_MS / 2;
const ENV = {
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_TIMEOUT_MS: String(ATTEMPT_TIMEOUT_MS),
};

const database = await cloneDatabase();
const receiver = await WebhookReceiver.open();
afterAll(async () => {
  await receiver[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

test.for<[held: string, ordered: boolean]>([
  ['an ordered queue', true],
  ['a slow delivery', false],
])('kill -9 of the process that holds %s silences its endpoint for seconds', async ([held, ordered], context) => {
  await using holder = await startUsher(database.url, ENV);
  const tenant = await createTenant(holder);
  const { webhooks, events } = clientsOf(holder, tenant);
  const { id: ownerId } = await createTestUser(holder, { applicationIds: [tenant.id] });
  const path = `/${ordered}`;
  const fields = { url: `${receiver.url}${path}`, eventTypes: ['event.created'], ownerId, ordered };
  const webhookId = (await webhooks.createWebhook(fields)).webhook?.webhookId ?? '';
  receiver.respond = () => {};
  await events.createEvent({ eventId: `${ordered}-1` });
  await expect.poll(() => receiver.at(path).length).toBe(1);
  // It has been extended, so it began long ago.
  const readEnds = async () => {
    const [row] = await database.sql`
      select next_at, (select due_at from webhook_deliveries where webhook_id = ${webhookId}) as due_at
      from webhook_queues where webhook_id = ${webhookId}`;
    return Number(ordered ? row?.next_at : row?.due_at);
  };
  const first = await readEnds();
  await using _other = await startUsher(database.url, ENV);
  await expect.poll(readEnds).toBeGreaterThan(first);
  await expect.poll(readEnds, { timeout: SILENCE_MS }).toBeGreaterThan(first + 5_000);
  // While it was extended nobody else has sent the message.
  expect(receiver.at(path)).toHaveLength(1);

  receiver.answer(204);
  const killedAt = performance.now();
  await holder.end('SIGKILL');
  await expect.poll(() => receiver.at(path).length, { timeout: SILENCE_MS }).toBe(2);
  report(context, {
    tried: `kill -9 of the holder of ${held}`,
    figures: `silent for ${((performance.now() - killedAt) / 1_000).toFixed(1)} s, where an attempt may take 60 s`,
  });
});
