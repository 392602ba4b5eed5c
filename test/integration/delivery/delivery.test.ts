/** Messages from the change to the endpoint. */
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, expect, test } from 'vitest';
import { type ReceivedMessage, WebhookReceiver } from '../../../src/testing/webhook-receiver.ts';
import { clientsOf, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const service = await startTestService({
  config: {
    webhookDelivery: true,
    webhookAllowedNetworks: ['127.0.0.0/8'],
    webhookRetrySchedule: [0, 0, 0],
  },
});
const receiver = await WebhookReceiver.open();
afterAll(async () => {
  await service.close();
  await receiver[Symbol.asyncDispose]();
});
afterEach(() => receiver.answer(204));
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

test('tells of events and check-ins', async () => {
  const tenant = await createTenant(service);
  const { webhooks, events } = clientsOf(service, tenant);
  const owner = await createTestUser(service, { applicationIds: [tenant.id] });
  const { webhook } = await webhooks.createWebhook({
    url: `${receiver.url}/all`,
    ownerId: owner.id,
    eventTypes: ['*'],
  });

  await events.createEvent({ eventId: 'e-1', name: 'Sommer "Fest" é' });
  await events.createEvent({ eventId: 'e-2' });
  await events.checkIn({ eventId: 'e-1', attendeeId: 'ada' });
  await events.checkIn({ eventId: 'e-1', attendeeId: 'ada' });
  await events.undoCheckIn({ eventId: 'e-1', attendeeId: 'ada' });
  await events.deleteEvent({ eventId: 'e-1' });
  await expect.poll(() => receiver.at('/all').length).toBe(5);
  const received = receiver
    .at('/all')
    .sort((a, b) => Number(a.headers['webhook-sequence']) - Number(b.headers['webhook-sequence']));
  expect(received.map(({ json: { type, data } }) => ({ type, ...data }))).toEqual([
    { type: 'event.created', eventId: 'e-1', name: 'Sommer "Fest" é', createdAt: INSTANT },
    { type: 'event.created', eventId: 'e-2', createdAt: INSTANT },
    { type: 'check_in.created', eventId: 'e-1', attendeeId: 'ada', checkedInAt: INSTANT },
    { type: 'check_in.undone', eventId: 'e-1', attendeeId: 'ada' },
    { type: 'event.deleted', eventId: 'e-1', name: 'Sommer "Fest" é', createdAt: INSTANT, deletedAt: INSTANT },
  ]);
  for (const message of received) expect(verify(message, webhook?.signingKey ?? '')).toEqual(message.json);
});

test('gets the messages that it subscribes to, while it is active', async () => {
  const tenant = await createTenant(service);
  const { webhooks, events } = clientsOf(service, tenant);
  const { id: ownerId } = await createTestUser(service, { applicationIds: [tenant.id] });
  const subscribe = async (path: string, eventTypes: string[], isActive = true) => {
    const fields = { url: `${receiver.url}${path}`, ownerId, eventTypes, isActive };
    return (await webhooks.createWebhook(fields)).webhook?.webhookId ?? '';
  };
  await subscribe('/events', ['event.created', 'event.deleted']);
  await subscribe('/check-ins', ['check_in.created']);
  await subscribe('/nothing', ['webhook.test']);
  const webhookId = await subscribe('/inactive', ['*'], false);
  await subscribe('/everything', ['*']);
  await events.createEvent({ eventId: 'e' });
  await events.checkIn({ eventId: 'e', attendeeId: 'ada' });
  await events.deleteEvent({ eventId: 'e' });
  const typesAt = (path: string) =>
    receiver
      .at(path)
      .map(({ json: { type } }) => type)
      .toSorted();
  const all = ['check_in.created', 'event.created', 'event.deleted'];
  await expect.poll(() => typesAt('/everything')).toEqual(all);
  await expect.poll(() => typesAt('/events')).toEqual(all.slice(1));
  await expect.poll(() => typesAt('/check-ins')).toEqual(all.slice(0, 1));
  expect([...typesAt('/nothing'), ...typesAt('/inactive')]).toEqual([]);
  // What has happened meanwhile is not made up for.
  await webhooks.updateWebhook({ webhookId, isActive: true });
  await events.createEvent({ eventId: 'later' });
  await expect.poll(() => typesAt('/inactive')).not.toEqual([]);
  expect((await webhooks.listDeliveries({ webhookId })).deliveries).toHaveLength(1);
});

test('waits as long as Retry-After says, and sends the same message again', async () => {
  const { events, webhooks, webhookId } = await subscribe('/busy');
  receiver.respond = (_, response) => {
    const isFirst = receiver.at('/busy').length === 1;
    response.writeHead(isFirst ? 503 : 204, { 'retry-after': '1' }).end();
  };
  await events.createEvent({ eventId: 'e' });
  await expect.poll(() => receiver.at('/busy').length).toBe(2);
  const [first, second] = receiver.at('/busy');
  expect(second).toMatchObject({ id: first?.id, body: first?.body });
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(990);
  const getDelivery = async () => (await webhooks.getDelivery({ webhookId, messageId: first?.id ?? '' })).delivery;
  await expect.poll(getDelivery).toMatchObject({ status: 'succeeded', attemptCount: 2 });
  // The log of attempts is written beside the delivery.
  const statusCodes = async () => (await getDelivery())?.attempts.map(({ statusCode }) => statusCode);
  await expect.poll(statusCodes).toEqual([503, 204]);
});

test('gives a delivery up after the last attempt of the schedule, and makes it again on request', async () => {
  const { events, webhooks, webhookId } = await subscribe('/broken');
  receiver.answer(500);
  await events.createEvent({ eventId: 'e' });
  const list = async () => (await webhooks.listDeliveries({ webhookId })).deliveries;
  await expect.poll(list).toMatchObject([{ status: 'failed', attemptCount: 3, lastStatusCode: 500 }]);
  receiver.answer(204);
  await webhooks.redeliver({ webhookId, messageId: receiver.at('/broken')[0]?.id ?? '' });
  await expect.poll(list).toMatchObject([{ status: 'succeeded', attemptCount: 4 }]);
});

test('makes a webhook inactive whose endpoint is gone', async () => {
  const { events, webhooks, webhookId, ownerId } = await subscribe('/gone');
  receiver.answer(410);
  await events.createEvent({ eventId: 'e-1' });
  const getWebhook = async () => (await webhooks.getWebhook({ webhookId })).webhook;
  await expect.poll(getWebhook).toMatchObject({ isActive: false, disabledReason: expect.stringContaining('410') });
  await webhooks.createWebhook({ url: `${receiver.url}/after`, ownerId, eventTypes: ['event.created'] });
  await events.createEvent({ eventId: 'e-2' });
  await expect.poll(() => receiver.at('/after').length).toBe(1);
  expect(receiver.at('/gone')).toHaveLength(1);
});

test('signs with the earlier key too while keys overlap, and then with the new one alone', async () => {
  const { events, webhooks, webhookId, signingKey: first } = await subscribe('/rotated');
  const rotate = async (overlapSeconds: number) =>
    (await webhooks.rotateSigningKey({ webhookId, overlapSeconds })).webhook?.signingKey ?? '';
  const second = await rotate(3_600);
  await events.createEvent({ eventId: 'e-1' });
  await expect.poll(() => receiver.at('/rotated').length).toBe(1);
  const third = await rotate(0);
  await events.createEvent({ eventId: 'e-2' });
  await expect.poll(() => receiver.at('/rotated').length).toBe(2);
  const verifiers = receiver
    .at('/rotated')
    .map((message) => [first, second, third].filter((key) => isBy(message, key)));
  expect(verifiers).toEqual([[first, second], [third]]);
});

test('sends messages of an ordered webhook one after another, also when one fails at first', async () => {
  const { events } = await subscribe('/ordered', { ordered: true });
  receiver.respond = (_, response) => {
    response.writeHead(receiver.at('/ordered').length === 1 ? 500 : 204).end();
  };
  for (const eventId of ['e-1', 'e-2', 'e-3']) await events.createEvent({ eventId });
  await expect.poll(() => receiver.at('/ordered').length).toBe(4);
  expect(receiver.at('/ordered').map(({ json }) => json.data.eventId)).toEqual(['e-1', 'e-1', 'e-2', 'e-3']);
});

/** Creates a webhook of a new application that is told of new events at that path. */
async function subscribe(path: string, { ordered = false } = {}) {
  const tenant = await createTenant(service);
  const { webhooks, events } = clientsOf(service, tenant);
  const { id: ownerId } = await createTestUser(service, { applicationIds: [tenant.id] });
  const fields = { url: `${receiver.url}${path}`, ownerId, eventTypes: ['event.created'], ordered };
  const { webhook } = await webhooks.createWebhook(fields);
  return { webhooks, events, ownerId, webhookId: webhook?.webhookId ?? '', signingKey: webhook?.signingKey ?? '' };
}

function isBy(message: ReceivedMessage, signingKey: string): boolean {
  try {
    verify(message, signingKey);
    return true;
  } catch {
    return false;
  }
}

/** Returns the JSON of a message. @throws if the key has not signed it */
function verify({ body, headers }: ReceivedMessage, signingKey: string): unknown {
  return new Webhook(signingKey).verify(body, headers as Record<string, string>);
}
