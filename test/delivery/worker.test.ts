/** What the worker does with queues: who delivers when, and what a failure leads to. Time is the test's. */
import { setTimeout as sleep } from 'node:timers/promises';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { AttemptRequest } from '../../src/delivery/attempt.ts';
import type { AttemptOutcome } from '../../src/delivery/http-exchange.ts';
import { LEASE_MS } from '../../src/delivery/leases.ts';
import { HOUR, MINUTE, SECOND } from '../support/clock.ts';
import { answer, openDeliveryFixture, type WorkerOptions } from '../support/delivery-fixture.ts';
import { adminClient } from '../support/service.ts';

const DAY = 24 * HOUR;
const { clock, service, sql, startWorker, subscribe, openMortalDatabase, readQueue } = await openDeliveryFixture();
afterAll(() => service.close());

describe('an endpoint that only fails', () => {
  test('makes its webhook inactive after five days, which the audit log shows', async () => {
    const { tenant, events, webhookId, getWebhook } = await subscribe();
    startWorker(() => answer(500), { schedule: [0, 0, ...Array(9).fill(14 * 3_600)] });
    await events.createEvent({ eventId: 'e' });
    const attempts = async () => (await sql`select from webhook_attempts where webhook_id = ${webhookId}`).length;
    await expect.poll(attempts).toBe(2);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    clock.advance(5 * DAY - SECOND);
    await expect.poll(attempts).toBe(3);
    expect(await getWebhook()).toMatchObject({ isActive: true });
    clock.advance(16 * HOUR);
    await expect
      .poll(getWebhook)
      .toMatchObject({ isActive: false, disabledReason: 'Every delivery failed for 5 days' });
    const { auditEvents } = await adminClient(service).listAuditEvents({ applicationId: tenant.id, pageSize: 1 });
    expect(auditEvents).toMatchObject([{ actorType: 'usher', action: 'DisableWebhook', resource: webhookId }]);
  });

  describe('stays active while messages wait', () => {
    /** Starts a worker until so many batches have failed. */
    const fail = async (webhookId: string, batches: number) => {
      const { stop } = startWorker(() => answer(500), { schedule: [0, (6 * DAY) / SECOND, 0] });
      await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(batches);
      await stop();
    };

    test('for six days, since no process delivers', async () => {
      const { events, webhookId, getWebhook } = await subscribe();
      await events.createEvent({ eventId: 'e' });
      clock.advance(6 * DAY);
      await fail(webhookId, 1);
      expect(await getWebhook()).toMatchObject({ isActive: true });
    });

    test('behind a failed one, even if tests fail, until an attempt of the schedule fails after five days', async () => {
      const { events, webhooks, webhookId, getWebhook } = await subscribe({ ordered: true });
      for (const eventId of ['first', 'waiting']) await events.createEvent({ eventId });
      await fail(webhookId, 1);
      clock.advance(5.5 * DAY);
      await webhooks.sendTestMessage({ webhookId });
      await fail(webhookId, 2);
      expect(await getWebhook()).toMatchObject({ isActive: true });
      clock.advance(1.5 * DAY);
      await fail(webhookId, 3);
      expect(await getWebhook()).toMatchObject({ isActive: false });
    });
  });

  test.each([
    ['a success in between', 'event.created', 200],
    ['failures of tests and redeliveries alone', 'webhook.test', 500],
  ])('stays active after %s', async (_, type, statusCode) => {
    const { events, webhooks, webhookId, getWebhook } = await subscribe();
    let status = statusCode;
    startWorker(() => answer(status), { schedule: [0] });
    const send = () =>
      type === 'webhook.test' ? webhooks.sendTestMessage({ webhookId }) : events.createEvent({ eventId: `${status}` });
    const attempted = (count: number) =>
      expect.poll(async () => sql`select from webhook_attempts where webhook_id = ${webhookId}`).toHaveLength(count);
    if (type === 'event.created') {
      await sql`insert into webhook_queues (application_id, webhook_id, failing_since)
        select application_id, id, ${new Date(clock.read().getTime() - 4 * DAY)} from webhooks where id = ${webhookId}`;
    }
    await send();
    await attempted(1);
    status = 500;
    clock.advance(5 * DAY);
    await send();
    await attempted(2);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    expect(await getWebhook()).toMatchObject({ isActive: true });
  });

  test.each([
    ['unordered', false],
    ['ordered', true],
  ])('gets a test message or a redelivery at once, before its backlog, if it is %s', async (_, ordered) => {
    const { events, webhooks, webhookId } = await subscribe({ ordered });
    const sent: (string | undefined)[] = [];
    const send = ({ headers }: AttemptRequest) => {
      sent.push(headers['webhook-id']);
      return answer(500);
    };
    for (let count = 0; count < 5; count++) await events.createEvent({ eventId: `e-${count}` });
    startWorker(send, { schedule: [0, 3_600, 3_600] });
    await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(1);
    const before = sent.length;
    const { messageId } = await webhooks.sendTestMessage({ webhookId });
    await expect.poll(() => sent.slice(before)).toEqual([messageId]);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    const first = sent[0] ?? '';
    await webhooks.redeliver({ webhookId, messageId: first });
    await expect.poll(() => sent.slice(before)).toEqual([messageId, first]);
  });
});

test('a message of a webhook that is made inactive meanwhile waits until it is active again', async () => {
  const { events, webhooks, webhookId } = await subscribe();
  await events.createEvent({ eventId: 'e' });
  const send = vi.fn(() => answer(204));
  const { stop } = startWorker(() => answer(500), { schedule: [0, 60] });
  await expect.poll(async () => (await readQueue(webhookId)).failed_batches).toBe(1);
  await stop();
  await webhooks.updateWebhook({ webhookId, isActive: false });
  clock.advance(2 * MINUTE);
  startWorker(send);
  const other = await subscribe();
  await other.events.createEvent({ eventId: 'e' });
  await expect.poll(() => send).toHaveBeenCalledTimes(1);
  await expect.poll(async () => (await readQueue(webhookId)).next_at).toBeNull();
  expect(send).toHaveBeenCalledTimes(1);
  await webhooks.updateWebhook({ webhookId, isActive: true });
  await expect.poll(() => send).toHaveBeenCalledTimes(2);
});

test('one of two processes sends a message that both look for', async () => {
  const { events, list } = await subscribe();
  const sent: string[] = [];
  const send = async ({ body }: AttemptRequest) => {
    sent.push(JSON.parse(body).data.eventId);
    await sleep(900);
    return answer(204);
  };
  for (let process = 0; process < 2; process++) startWorker(send);
  const eventIds = ['a', 'b', 'c'];
  for (const eventId of eventIds) await events.createEvent({ eventId });
  await expect.poll(list).toMatchObject(eventIds.map(() => ({ status: 'succeeded' })));
  expect(sent.toSorted()).toEqual(eventIds);
});

test('a process that takes over an expired lease settles, and the late one changes nothing', async () => {
  const { events, list, webhookId } = await subscribe({ ordered: true });
  await events.createEvent({ eventId: 'e' });
  const late = Promise.withResolvers<AttemptOutcome>();
  const send = vi.fn(() => late.promise);
  const { database, failWhen } = openMortalDatabase();
  failWhen((parameters) => 'leases' in parameters);
  const stalled = startWorker(send, { database });
  await expect.poll(() => send).toHaveBeenCalled();
  const { lease } = await readQueue(webhookId);
  const idle = Promise.withResolvers<AttemptOutcome>();
  const second = startWorker(() => idle.promise);
  clock.advance(LEASE_MS - SECOND);
  expect((await readQueue(webhookId)).lease).toBe(lease);
  clock.advance(SECOND);
  await expect.poll(async () => (await readQueue(webhookId)).lease).not.toBe(lease);
  const { lease: newer } = await readQueue(webhookId);
  late.resolve(answer(500));
  await stalled.stop();
  expect((await readQueue(webhookId)).lease).toBe(newer);
  expect(await list()).toMatchObject([{ status: 'pending', attemptCount: 0 }]);
  idle.resolve(answer(204));
  await expect.poll(list).toMatchObject([{ status: 'succeeded', attemptCount: 1 }]);
  await second.stop();
});

test('a lease is extended as long as an attempt lasts, so that no other process begins one', async () => {
  const { events, list, webhookId } = await subscribe({ ordered: true });
  await events.createEvent({ eventId: 'held' });
  const hanging = Promise.withResolvers<AttemptOutcome>();
  const sent: string[] = [];
  const send = ({ body }: AttemptRequest) => {
    const { eventId } = JSON.parse(body).data;
    if (eventId !== 'held') return answer(204);
    sent.push(eventId);
    return hanging.promise;
  };
  startWorker(send);
  await expect.poll(() => sent).toEqual(['held']);
  const { lease, next_at } = await readQueue(webhookId);
  const begunAt = clock.read();
  clock.advance(LEASE_MS - SECOND);
  await expect.poll(async () => (await readQueue(webhookId)).next_at > next_at).toBe(true);
  expect((await readQueue(webhookId)).next_at.getTime()).toBe(clock.read().getTime() + LEASE_MS);
  clock.advance(2 * SECOND);
  expect(clock.read().getTime()).toBeGreaterThan(begunAt.getTime() + LEASE_MS);
  startWorker(send);
  const other = await subscribe();
  await other.events.createEvent({ eventId: 'other' });
  await expect.poll(other.list).toMatchObject([{ status: 'succeeded' }]);
  expect(await readQueue(webhookId)).toMatchObject({ lease });
  expect(sent).toEqual(['held']);
  hanging.resolve(answer(202));
  await expect.poll(list).toMatchObject([{ status: 'succeeded', attemptCount: 1, lastStatusCode: 202 }]);
});

describe('a message whose endpoint does not answer for a second', () => {
  /** Starts a worker whose attempts of the event `slow` hang until the test ends them. */
  function startHanging(options: WorkerOptions = {}) {
    const sent: string[] = [];
    const hanging: ((outcome: AttemptOutcome) => void)[] = [];
    const send = ({ body }: AttemptRequest) => {
      const { eventId = 'test' } = JSON.parse(body).data;
      // Other tests have left messages, too.
      if (/^(slow|next|other)/.test(eventId)) sent.push(eventId);
      if (!eventId.startsWith('slow')) return answer(204);
      return new Promise<AttemptOutcome>((resolve) => hanging.push(resolve));
    };
    const worker = startWorker(send, options);
    const endAll = (status: number) => {
      for (const resolve of hanging.splice(0)) resolve(answer(status));
    };
    onTestFinished(() => endAll(500));
    return { ...worker, sent, endAll };
  }

  test('does not delay the next one, and is settled when it answers', async () => {
    const { events, list } = await subscribe();
    const { sent, endAll } = startHanging();
    await events.createEvent({ eventId: 'slow' });
    await expect.poll(() => sent).toEqual(['slow']);
    await events.createEvent({ eventId: 'next' });
    await expect.poll(() => sent).toEqual(['slow', 'next']);
    await expect.poll(list).toMatchObject([
      { status: 'succeeded', attemptCount: 1 },
      { status: 'pending', attemptCount: 0 },
    ]);
    endAll(204);
    const succeeded = { status: 'succeeded', attemptCount: 1, lastStatusCode: 204 };
    await expect.poll(list).toMatchObject([succeeded, succeeded]);
  });

  test('has no next attempt while one is under way, and then that of the schedule', async () => {
    const { events, webhooks, webhookId, list } = await subscribe();
    const { sent, endAll } = startHanging({ schedule: [0, 3_600] });
    await events.createEvent({ eventId: 'slow' });
    await expect.poll(() => sent).toEqual(['slow']);
    const [{ messageId = '' } = {}] = await list();
    const waitsMs = async () => {
      const { delivery } = await webhooks.getDelivery({ webhookId, messageId });
      const instants = [...(await list()), delivery].map((each) => each?.nextAttemptAt);
      return instants.map((instant) => (instant ? timestampMs(instant) - clock.read().getTime() : null));
    };
    await expect.poll(waitsMs).toEqual([null, null]);
    endAll(500);
    await expect.poll(async () => (await waitsMs()).every((ms) => ms !== null && ms >= HOUR)).toBe(true);
  });

  test('delays the next one of an ordered webhook', async () => {
    const { events, webhooks, webhookId, list } = await subscribe({ ordered: true });
    const { sent, endAll } = startHanging();
    await events.createEvent({ eventId: 'slow' });
    await expect.poll(() => sent).toEqual(['slow']);
    await events.createEvent({ eventId: 'next' });
    const other = await subscribe();
    await other.events.createEvent({ eventId: 'slow-other' });
    await other.events.createEvent({ eventId: 'other' });
    await expect.poll(() => sent.includes('other')).toBe(true);
    expect(sent).not.toContain('next');
    expect((await readQueue(webhookId)).lease).not.toBeNull();
    await webhooks.updateWebhook({ webhookId, description: 'still ordered' });
    endAll(204);
    await expect.poll(async () => (await list()).map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  });

  test('is sent again by another process when its own has died, and not before its lease ends', async () => {
    const { events, list, webhookId } = await subscribe();
    const { database, die } = openMortalDatabase();
    const dead = startHanging({ database });
    await events.createEvent({ eventId: 'slow' });
    await expect.poll(() => dead.sent).toHaveLength(1);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    die();
    const { sent, endAll } = startHanging();
    await events.createEvent({ eventId: 'next' });
    clock.advance(LEASE_MS - SECOND);
    await expect.poll(() => sent).toEqual(['next']);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    clock.advance(SECOND);
    await expect.poll(() => sent).toEqual(['next', 'slow']);
    dead.endAll(500);
    endAll(204);
    const succeeded = { status: 'succeeded', attemptCount: 1 };
    await expect.poll(list).toMatchObject([succeeded, succeeded]);
  });

  test('is not sent by another process while its lease is extended', async () => {
    const { events, list, webhookId, webhooks } = await subscribe();
    const { sent, endAll } = startHanging();
    await events.createEvent({ eventId: 'slow' });
    await expect.poll(() => sent).toEqual(['slow']);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    const leaseEnd = async () =>
      (await sql`select due_at from webhook_deliveries where webhook_id = ${webhookId}`)[0]?.due_at;
    const before = await leaseEnd();
    clock.advance(LEASE_MS - SECOND);
    await expect.poll(async () => (await leaseEnd()) > before).toBe(true);
    // The queue is not claimed in vain.
    expect((await readQueue(webhookId)).next_at).toEqual(await leaseEnd());
    clock.advance(2 * SECOND);
    const [{ messageId = '' } = {}] = await list();
    expect((await webhooks.getDelivery({ webhookId, messageId })).delivery).not.toHaveProperty(
      'nextAttemptAt',
      expect.anything(),
    );
    const second = startHanging();
    await events.createEvent({ eventId: 'next' });
    await expect.poll(async () => (await list())[0]).toMatchObject({ status: 'succeeded' });
    endAll(202);
    await expect.poll(list).toMatchObject([{}, { status: 'succeeded', attemptCount: 1, lastStatusCode: 202 }]);
    expect([...sent, ...second.sent].toSorted()).toEqual(['next', 'slow']);
  });

  test('is settled by whoever sends it after its lease has ended, and the late answer changes nothing', async () => {
    const { events, list, webhookId } = await subscribe();
    const late = startHanging();
    await events.createEvent({ eventId: 'slow' });
    await expect.poll(() => late.sent).toHaveLength(1);
    await expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    clock.advance(LEASE_MS);
    late.endAll(500);
    await late.stop();
    expect(await list()).toMatchObject([{ status: 'pending', attemptCount: 0 }]);
    startWorker(() => answer(204));
    await expect.poll(list).toMatchObject([{ status: 'succeeded', attemptCount: 1 }]);
  });

  test('is tried again by its schedule, and its endpoint is left alone unless another message has arrived', async () => {
    const { events, list, webhookId } = await subscribe();
    const { sent, endAll } = startHanging({ schedule: [0, 60, 60] });
    const released = () => expect.poll(async () => (await readQueue(webhookId)).lease).toBeNull();
    for (const eventId of ['slow-1', 'slow-2']) {
      await events.createEvent({ eventId });
      await expect.poll(() => sent).toContain(eventId);
    }
    await released();
    endAll(500);
    const failed = { status: 'pending', attemptCount: 1, lastStatusCode: 500 };
    await expect.poll(list).toMatchObject([failed, failed]);
    expect(await readQueue(webhookId)).toMatchObject({ failed_batches: 1, failing_since: expect.any(Date) });

    clock.advance(2 * MINUTE);
    await expect.poll(() => sent).toHaveLength(3);
    endAll(204);
    await expect.poll(() => sent).toHaveLength(4);
    await released();
    await events.createEvent({ eventId: 'next' });
    await expect.poll(() => sent).toContain('next');
    await expect.poll(async () => (await list())[0]).toMatchObject({ status: 'succeeded' });
    endAll(500);
    const attemptsOf = async () => (await list()).map(({ attemptCount }) => attemptCount).sort();
    await expect.poll(attemptsOf).toEqual([1, 2, 2]);
    expect(await readQueue(webhookId)).toMatchObject({ failed_batches: 0, failing_since: null });
  });
});

test('a delivery is settled once even if its attempt cannot be logged', async () => {
  const { events, list } = await subscribe();
  const { database, failWhen } = openMortalDatabase();
  failWhen((parameters) => 'attempts' in parameters);
  const send = vi.fn(() => answer(204));
  startWorker(send, { database });
  await events.createEvent({ eventId: 'e' });
  await expect.poll(list).toMatchObject([{ status: 'succeeded', attemptCount: 1 }]);
  expect(send).toHaveBeenCalledTimes(1);
});

test('a shutdown ends attempts in time, also while a statement hangs', async () => {
  const { events, list } = await subscribe();
  const { database, holdBack } = openMortalDatabase();
  const ended = Promise.withResolvers<void>();
  const send = vi.fn((_: AttemptRequest, signal?: AbortSignal) => {
    const { promise, resolve } = Promise.withResolvers<AttemptOutcome>();
    signal?.addEventListener('abort', () => {
      resolve({ ...answer(500), statusCode: null });
      ended.resolve();
    });
    return promise;
  });
  const { stop } = startWorker(send, { database, shutdownTimeoutMs: 100 });
  await events.createEvent({ eventId: 'e' });
  await expect.poll(() => send).toHaveBeenCalled();
  const answered = Promise.withResolvers<void>();
  await holdBack((parameters) => 'after' in parameters, answered.promise);
  const first = Promise.race([ended.promise.then(() => 'the attempt'), sleep(5_000, 'the statement')]);
  first.then(() => answered.resolve());
  await stop();
  expect(await first).toBe('the attempt');
  expect(await list()).toMatchObject([{ status: 'pending', attemptCount: 0 }]);
});

test('no transaction is open while an attempt is made', async () => {
  const { tenant, events, webhookId } = await subscribe();
  const held = Promise.withResolvers<AttemptOutcome>();
  const send = vi.fn(() => held.promise);
  startWorker(send);
  await events.createEvent({ eventId: 'e' });
  await expect.poll(() => send).toHaveBeenCalled();
  const open = () => sql`
    select from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`;
  await expect.poll(open).toHaveLength(0);
  await sql`
    select from webhook_queues where application_id = ${tenant.id} and webhook_id = ${webhookId} for update nowait`;
  held.resolve(answer(204));
});

test('makes failed deliveries due again a thousand at a time, and goes on after the process has died', async () => {
  const { webhooks, webhookId } = await subscribe();
  const since = clock.read();
  await sql`
    with message as (
      insert into webhook_messages (application_id, type, payload, created_at, fanned_out_to)
      select application_id, 'event.created', '{}', ${since}::timestamptz + n / 2 * interval '1 ms', null
      from webhooks, generate_series(1, 2500) n where id = ${webhookId} returning *
    )
    insert into webhook_deliveries (application_id, webhook_id, message_id, status, created_at)
    select application_id, ${webhookId}, id, 'failed', created_at from message`;
  clock.advance(MINUTE);
  await webhooks.redeliverFailed({ webhookId, since: since.toISOString() });
  const countRenewed = async () =>
    (await sql`select from webhook_deliveries where webhook_id = ${webhookId} and is_manual`).length;
  const dead = Promise.withResolvers<AttemptOutcome>();
  const { database, die } = openMortalDatabase();
  startWorker(() => dead.promise, { database });
  await expect.poll(countRenewed).toBe(1_000);
  die();
  dead.resolve(answer(500));
  clock.advance(MINUTE);
  startWorker(() => answer(204));
  await expect.poll(countRenewed).toBe(2_500);
  await expect.poll(async () => (await readQueue(webhookId)).redeliver_since).toBeNull();
});

test('gives a message to more webhooks than one statement takes, each once', async () => {
  const { tenant, events } = await subscribe();
  await sql`
    insert into webhooks (application_id, id, url, signing_key, event_types, owner_id, created_at, updated_at)
    select ${tenant.id}, 'wh_' || md5(n::text), url, signing_key, event_types, owner_id, created_at, updated_at
    from webhooks, generate_series(1, 2300) n where application_id = ${tenant.id}`;
  await events.createEvent({ eventId: 'one' });
  await events.createEvent({ eventId: 'two' });
  startWorker(() => answer(204));
  const count = async () => {
    const [row] = await sql`
      select count(*)::int as count, count(distinct (webhook_id, message_id))::int as different
      from webhook_deliveries where application_id = ${tenant.id}`;
    return row;
  };
  await expect.poll(count).toEqual({ count: 4_602, different: 4_602 });
  // The next tests need not wait for all of them.
  await sql`delete from webhook_queues where application_id = ${tenant.id}`;
});

test('a message of a change that has not committed is never sent, and a later one does not hide it', async () => {
  const { tenant, events, list } = await subscribe();
  const sent: string[] = [];
  startWorker(({ body }) => {
    const { eventId } = JSON.parse(body).data ?? {};
    if (eventId?.startsWith('tx-')) sent.push(eventId);
    return answer(204);
  });
  const insert = (change: typeof sql, eventId: string) => change`
    insert into webhook_messages (application_id, type, payload, created_at)
    values (${tenant.id}, 'event.created', ${JSON.stringify({ data: { eventId } })}, now())`;
  const undo = new Error('Undone');
  await sql
    .begin(async (change) => {
      await insert(change as never, 'tx-undone');
      await events.createEvent({ eventId: 'tx-later' });
      await expect.poll(() => sent).toEqual(['tx-later']);
      throw undo;
    })
    .catch((error) => expect(error).toBe(undo));
  await sql.begin(async (change) => {
    await insert(change as never, 'tx-slow');
    await events.createEvent({ eventId: 'tx-last' });
    await expect.poll(() => sent).toEqual(['tx-later', 'tx-last']);
  });
  await expect.poll(() => sent).toEqual(['tx-later', 'tx-last', 'tx-slow']);
  expect(await list()).toHaveLength(3);
});

test('a redelivery of one message leaves the state of the others', async () => {
  const { events, list, webhooks, webhookId } = await subscribe();
  startWorker(() => answer(500), { schedule: [0, 0] });
  for (const eventId of ['a', 'b', 'c']) await events.createEvent({ eventId });
  const failed = { status: 'failed', attemptCount: 2 };
  await expect.poll(list).toMatchObject([failed, failed, failed]);
  const [, { messageId = '' } = {}] = await list();
  await webhooks.redeliver({ webhookId, messageId });
  await expect.poll(list).toMatchObject([failed, { ...failed, attemptCount: 4 }, failed]);
});
