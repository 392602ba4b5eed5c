/** What becomes of messages when their webhook, its keys or its application change. Time is the test's. */
import { createHmac } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import type { PlaceholderValues } from '../../../src/database/pool/database.ts';
import type { AttemptRequest } from '../../../src/delivery/attempt.ts';
import type { AttemptOutcome } from '../../../src/delivery/http-exchange.ts';
import { HOUR, SECOND } from '../../support/clock.ts';
import { answer, eventIdOf, openDeliveryFixture } from '../../support/delivery-fixture.ts';
import { adminClient } from '../../support/service.ts';

const DAY = 24 * HOUR;
const { clock, service, sql, startWorker, subscribe, deliverToAnother, openMortalDatabase, readQueue } =
  await openDeliveryFixture();
afterAll(() => service.close());

type Subscriber = Awaited<ReturnType<typeof subscribe>>;

/** What ends deliveries to a webhook. */
const ENDS: [name: string, end: (subscriber: Subscriber) => Promise<unknown>][] = [
  ['made inactive', ({ webhooks, webhookId }) => webhooks.updateWebhook({ webhookId, isActive: false })],
  ['deleted', ({ webhooks, webhookId }) => webhooks.deleteWebhook({ webhookId })],
  [
    'deleted with its application',
    ({ tenant }) => adminClient(service).deleteApplication({ applicationId: tenant.id }),
  ],
];

describe.each(ENDS)('a webhook that is %s', (_, end) => {
  test.each([
    ['unordered', false],
    ['ordered', true],
  ])('in the middle of a batch gets no other message, if it is %s', async (_name, ordered) => {
    const subscriber = await subscribe({ ordered });
    const { events, webhookId } = subscriber;
    for (const eventId of ['first', 'second', 'third']) await events.createEvent({ eventId });
    const first = Promise.withResolvers<AttemptOutcome>();
    const sent: string[] = [];
    startWorker((request) => {
      const eventId = eventIdOf(request);
      if (eventId !== 'other') sent.push(eventId);
      return eventId === 'first' ? first.promise : answer(204);
    });
    await expect.poll(() => sent).toEqual(['first']);
    await end(subscriber);
    first.resolve(answer(204));
    await expect.poll(() => sql`select from webhook_attempts where webhook_id = ${webhookId}`).toHaveLength(1);
    await expect.poll(async () => (await readQueue(webhookId)).next_at ?? null).toBeNull();
    await deliverToAnother();
    expect(sent).toEqual(['first']);
  });

  test('between the claim of its queue and the attempt gets nothing', async () => {
    const subscriber = await subscribe();
    const { events, webhookId } = subscriber;
    await events.createEvent({ eventId: 'late' });
    const { database, holdBack } = openMortalDatabase();
    const ended = Promise.withResolvers<void>();
    const isOfBatch = (parameters: PlaceholderValues) => parameters.webhookId === webhookId && !('lease' in parameters);
    const claimed = holdBack(isOfBatch, ended.promise);
    const sent: string[] = [];
    startWorker(
      (request) => {
        sent.push(eventIdOf(request));
        return answer(204);
      },
      { database },
    );
    await claimed;
    await end(subscriber);
    ended.resolve();
    await expect.poll(async () => (await readQueue(webhookId)).next_at ?? null).toBeNull();
    await deliverToAnother();
    expect(sent).toEqual(['other']);
  });

  test('gets no retry', async () => {
    const subscriber = await subscribe();
    await subscriber.events.createEvent({ eventId: 'failing' });
    const sent: string[] = [];
    startWorker(
      (request) => {
        sent.push(eventIdOf(request));
        return answer(eventIdOf(request) === 'other' ? 204 : 500);
      },
      { schedule: [0, 60, 60, 60] },
    );
    await expect.poll(async () => (await readQueue(subscriber.webhookId)).failed_batches).toBe(1);
    await end(subscriber);
    clock.advance(HOUR);
    await deliverToAnother();
    expect(sent).toEqual(['failing', 'other']);
  });
});

test('a webhook that is made active again is not made inactive by its next failure', async () => {
  const { events, webhooks, webhookId, getWebhook } = await subscribe();
  const { stop } = startWorker(() => answer(500), { schedule: [0] });
  await events.createEvent({ eventId: 'before' });
  await expect.poll(async () => (await readQueue(webhookId)).failing_since).toBeInstanceOf(Date);
  await stop();
  await webhooks.updateWebhook({ webhookId, isActive: false });
  clock.advance(6 * DAY);
  await webhooks.updateWebhook({ webhookId, isActive: true });
  expect(await readQueue(webhookId)).toMatchObject({ failing_since: null, failed_batches: 0 });
  startWorker(() => answer(500), { schedule: [0] });
  await events.createEvent({ eventId: 'after' });
  await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(1);
  await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
  expect(await getWebhook()).toMatchObject({ isActive: true });
});

describe('an endpoint that fails is', () => {
  const url = 'https://hooks.test';

  test.each([
    ['left alone when an update names what it has', { url, isActive: true, description: 'New' }, 1],
    ['tried at once when it gets another URL', { url: `${url}/new` }, 2],
  ])('%s', async (_, changes, attempts) => {
    const { events, webhooks, webhookId } = await subscribe();
    const sent: string[] = [];
    startWorker(
      (request) => {
        sent.push(eventIdOf(request));
        return answer(eventIdOf(request) === 'other' ? 204 : 500);
      },
      { schedule: [0, 60, 60] },
    );
    await events.createEvent({ eventId: 'failing' });
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(1);
    const before = await readQueue(webhookId);
    // The delivery waits for its retry, so what is tried at once is a new message.
    await events.createEvent({ eventId: 'new' });
    await webhooks.updateWebhook({ webhookId, ...changes });
    await deliverToAnother();
    await expect.poll(() => sent.filter((eventId) => eventId !== 'other')).toHaveLength(attempts);
    const { next_at, failed_batches, failing_since } = before;
    if (attempts === 1) expect(await readQueue(webhookId)).toMatchObject({ next_at, failed_batches, failing_since });
  });
});

test('a signing key no longer signs after its overlap', async () => {
  const { events, webhooks, webhookId, getWebhook } = await subscribe();
  const sent: AttemptRequest[] = [];
  startWorker((request) => {
    sent.push(request);
    return answer(204);
  });
  const first = (await getWebhook())?.signingKey ?? '';
  const second = (await webhooks.rotateSigningKey({ webhookId, overlapSeconds: 60 })).webhook?.signingKey ?? '';
  const isSignedBy = async (key: string) => {
    const { headers, body } = sent.at(-1) ?? {};
    const id = headers?.['webhook-id'] ?? '';
    const secret = Buffer.from(key.replace('whsec_', ''), 'base64');
    const text = `${id}.${headers?.['webhook-timestamp']}.${body}`;
    const signature = createHmac('sha256', secret).update(text).digest('base64');
    return headers?.['webhook-signature']?.split(' ').includes(`v1,${signature}`);
  };
  const signers = async (eventId: string) => {
    const count = sent.length;
    await events.createEvent({ eventId });
    await expect.poll(() => sent).toHaveLength(count + 1);
    return Promise.all([first, second].map(isSignedBy));
  };
  clock.advance(59 * SECOND);
  expect(await signers('during')).toEqual([true, true]);
  clock.advance(SECOND);
  expect(await signers('after')).toEqual([false, true]);
});

test('an ordered webhook waits for an earlier message that has not been fanned out', async () => {
  const { tenant, webhookId } = await subscribe({ ordered: true });
  const { database, holdBack } = openMortalDatabase();
  const isLookedAt = Promise.withResolvers<void>();
  const fansOut = ({ applicationId, ...more }: PlaceholderValues) =>
    applicationId === tenant.id && Object.keys(more).join() === 'now';
  const held = holdBack(fansOut, isLookedAt.promise);
  // The earlier message has committed after the fan-out of the later one.
  await sql`
    with message as (
      insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
      select ${tenant.id}, 'event.created', json_build_object('data', json_build_object('eventId', name)), now(), sent
      from (values (1, 'earlier', ''), (2, 'later', null)) as message (number, name, sent) order by number
      returning *
    ), delivery as (
      insert into webhook_deliveries (application_id, webhook_id, message_id, created_at, due_at)
      select application_id, ${webhookId}, id, created_at, ${clock.read()} from message where fanned_out_to is null
    )
    insert into webhook_queues (application_id, webhook_id, next_at) values (${tenant.id}, ${webhookId}, ${clock.read()})`;
  const sent: string[] = [];
  startWorker(
    (request) => {
      if (/earlier|later/.test(request.body)) sent.push(eventIdOf(request));
      return answer(204);
    },
    { database },
  );
  await held;
  await expect.poll(async () => (await readQueue(webhookId)).next_at > clock.read()).toBe(true);
  await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
  expect(sent).toEqual([]);
  isLookedAt.resolve();
  await expect.poll(() => sent).toEqual(['earlier', 'later']);
});
