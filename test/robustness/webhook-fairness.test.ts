/** Deliveries of one application, while another has many webhooks with messages that wait. Times: only the long form. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { cloneDatabase } from '../support/database.ts';
import { startUsher } from '../support/process.ts';
import { beginSession, clientsOf, createTenant, createTestUser, type Tenant } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';

const WEBHOOKS = quickOrLong(80, 400);
const EVENTS = quickOrLong(5, 20);
const SAMPLES = quickOrLong(2, 30);
const MAX_RATIO = 3;
const POLL_MS = 1;

test('a crowd of webhooks of one application hardly delays the deliveries of another', async (context) => {
  await using database = await cloneDatabase();
  const env = { WEBHOOK_DELIVERY: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  await using usher = await startUsher(database.url, env);
  await using receiver = await WebhookReceiver.open();
  const [crowd, victim] = [await createTenant(usher), await createTenant(usher)];
  await subscribe(usher, victim, [`${receiver.url}/victim`]);
  const urls = Array.from({ length: WEBHOOKS }, (_, at) => `${receiver.url}/crowd/${at}`);
  await subscribe(usher, crowd, urls);
  const countCrowd = () => receiver.messages.filter(({ path }) => path.startsWith('/crowd')).length;

  await measure(usher, victim, receiver);
  const alone = await measure(usher, victim, receiver);
  const { events } = clientsOf(usher, crowd);
  for (let at = 0; at < EVENTS; at++) await events.createEvent({ eventId: `crowd ${at}` });
  const beside = await measure(usher, victim, receiver, countCrowd);
  const total = WEBHOOKS * EVENTS;
  await expect.poll(countCrowd, { timeout: 600_000, interval: 100 }).toBeGreaterThanOrEqual(total);

  const [before, during] = [alone, beside].map((messages) => medianOf(messages.map(({ ms }) => ms))) as [
    number,
    number,
  ];
  report(context, {
    tried: `${WEBHOOKS} webhooks, ${EVENTS} events`,
    figures: `p50 ${before.toFixed(0)} ms alone, ${during.toFixed(0)} ms beside, ${(during / before).toFixed(1)}x`,
  });
  // While a message of the victim was under way, most of the crowd's had to wait.
  expect(Math.max(...beside.map(({ overtaken }) => overtaken))).toBeLessThan(total / 2);
  if (quickOrLong(false, true)) expect(during / before).toBeLessThanOrEqual(MAX_RATIO);
});

async function subscribe(usher: { url: string }, tenant: Tenant, urls: readonly string[]): Promise<void> {
  const owner = await createTestUser(usher);
  await beginSession(usher, tenant, owner);
  const { webhooks } = clientsOf(usher, tenant);
  for (const url of urls) await webhooks.createWebhook({ url, ownerId: owner.id, eventTypes: ['event.created'] });
}

/** Returns how long each of some messages takes from its change to the endpoint, and how many others come meanwhile. */
async function measure(
  usher: { url: string },
  tenant: Tenant,
  receiver: WebhookReceiver,
  countOthers: () => number = () => 0,
): Promise<{ ms: number; overtaken: number }[]> {
  const { events } = clientsOf(usher, tenant);
  const measured: { ms: number; overtaken: number }[] = [];
  for (let at = 0; at < SAMPLES; at++) {
    const eventId = `${performance.now()}`;
    const startedAt = performance.now();
    await events.createEvent({ eventId });
    const before = countOthers();
    const find = () => receiver.messages.find(({ path, body }) => path === '/victim' && body.includes(eventId));
    while (!find()) await sleep(POLL_MS);
    measured.push({ ms: (find()?.at ?? 0) - startedAt, overtaken: countOthers() - before });
  }
  return measured;
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
