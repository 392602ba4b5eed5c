/** Conditions of the statements about deliveries to webhooks, a row each. What callers see: test/contract/webhooks.test.ts. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { p, statement, t } from '../../../../src/database/sql/template.ts';
import { selectMessage } from '../../../../src/domain/webhooks/delivery.ts';
import { getDelivery } from '../../../../src/domain/webhooks/get-delivery.ts';
import { listDeliveries } from '../../../../src/domain/webhooks/list-deliveries.ts';
import { redeliver } from '../../../../src/domain/webhooks/redeliver.ts';
import { redeliverFailed } from '../../../../src/domain/webhooks/redeliver-failed.ts';
import { sendTestMessage } from '../../../../src/domain/webhooks/send-test-message.ts';
import { at, DAY, HOUR, NOW, reason } from '../../../support/domain-scene.ts';
import { openWebhooks } from '../../../support/webhook-scene.ts';

const { sql, readTold, tokens, call, set, readQueue, deliver, readDeliveries, readIds } = await openWebhooks();
const EPOCH = new Date(0);
type Columns = Readonly<Record<string, unknown>>;

let here: string;
let elsewhere: string;
let webhookId: string;
let another: string;
beforeEach(() => {
  ({ here, elsewhere, webhookId, another } = readIds());
});

test('a message is that of the application', async () => {
  for (const [of, type] of [
    [elsewhere, 'event.deleted'],
    [here, 'event.created'],
  ] as const)
    await sql`
      insert into webhook_messages (id, application_id, type, payload, created_at) overriding system value
      values (1, ${of}, ${type}, '{}', ${NOW})`;
  const select = statement('select_one_message', { type: t.text })`
    select type from (${selectMessage(p.bigint('messageId'))}) as message`;
  const typeIn = async (applicationId: string) =>
    (await call().run(select, { applicationId, messageId: '1' }))[0]?.type;
  expect([await typeIn(here), await typeIn(elsewhere)]).toEqual(['event.created', 'event.deleted']);
});

describe('to deliver a message again', () => {
  const FAILED = { status: 'failed', due_at: null, schedule_index: 3, is_manual: false };
  const RENEWED = { status: 'pending', due_at: EPOCH, schedule_index: 0, is_manual: true };

  test.each<[string, delivery: Columns, webhook: Columns, answer: string]>([
    ['takes one of 14 days ago', { created_at: at(-14 * DAY) }, {}, 'done'],
    ['takes no older one', { created_at: at(-14 * DAY - 1) }, {}, 'DELIVERY_NOT_FOUND'],
    ['takes one that has succeeded', { status: 'succeeded' }, {}, 'done'],
    ['takes none of an inactive webhook', {}, { is_active: false }, 'WEBHOOK_NOT_ACTIVE'],
  ])('%s', async (_, delivery, webhook, answer) => {
    await set('webhooks', { is_active: true, ...webhook });
    await deliver(1, { ...FAILED, ...delivery });
    await deliver(2, FAILED);
    await deliver(1, { ...FAILED, webhook_id: another });
    expect(await reason(redeliver(call(), { webhookId, messageId: 'msg_1' }))).toBe(answer);
    const isDone = answer === 'done';
    const one = isDone ? RENEWED : FAILED;
    expect(await readDeliveries(Object.keys(FAILED))).toEqual([one, FAILED, FAILED]);
    expect(await readQueue()).toMatchObject({ next_at: isDone ? NOW : null, is_urgent: isDone });
    expect(await readQueue(another)).toMatchObject({ next_at: null, is_urgent: false, wake_count: '0' });
    expect(readTold()).toEqual(isDone ? [here] : []);
  });

  const lease = randomUUID();
  const begin = (ms: number) => redeliverFailed(call(), { webhookId, since: at(ms).toISOString() });
  test.each<[string, before: Columns, ms: number, after: Columns]>([
    ['that failed since an instant begins at once', {}, -HOUR, { next_at: NOW, redeliver_since: at(-HOUR) }],
    ['that failed since 14 days begins', {}, -14 * DAY, { redeliver_since: at(-14 * DAY) }],
    ['begins where an earlier call has', { redeliver_since: at(-DAY) }, -HOUR, { redeliver_since: at(-DAY) }],
    ['begins before a later one', { redeliver_since: at(-HOUR) }, -DAY, { redeliver_since: at(-DAY) }],
    ['waits for who delivers', { lease, next_at: at(HOUR) }, -HOUR, { lease, next_at: at(HOUR) }],
    ['waits for no retry', { next_at: at(HOUR) }, -HOUR, { next_at: NOW }],
  ])('%s', async (_, before, ms, after) => {
    await set('webhook_queues', { wake_count: 5, redeliver_until: at(-HOUR), ...before });
    await begin(ms);
    expect(await readQueue()).toMatchObject({ wake_count: '6', redeliver_until: NOW, ...after });
    expect(readTold()).toEqual([here]);
    expect(await readQueue(another)).toMatchObject({ wake_count: '0', redeliver_since: null });
  });

  test('that failed begins only at an active webhook, and for 14 days', async () => {
    expect(await reason(begin(-14 * DAY - 1))).toBe('VALIDATION_FAILED');
    await set('webhooks', { is_active: false });
    expect(await reason(begin(-HOUR))).toBe('WEBHOOK_NOT_ACTIVE');
    expect(await readQueue()).toMatchObject({ wake_count: '0', redeliver_since: null });
  });
});

test.each([
  [true, 'done'],
  [false, 'WEBHOOK_NOT_ACTIVE'],
])('a test message is sent to one webhook if it is active: %s', async (is_active, answer) => {
  await set('webhooks', { is_active });
  expect(await reason(sendTestMessage(call(), { webhookId }))).toBe(answer);
  const sent = await readDeliveries(['webhook_id', 'status', 'due_at', 'is_manual']);
  expect(sent).toEqual(is_active ? [{ webhook_id: webhookId, status: 'pending', due_at: EPOCH, is_manual: true }] : []);
  const messages = await sql`select fanned_out_to from webhook_messages where application_id = ${here}`;
  expect(messages).toEqual(is_active ? [{ fanned_out_to: null }] : []);
  expect(await readQueue()).toMatchObject({ is_urgent: is_active });
  expect(readTold()).toEqual(is_active ? [here] : []);
});

describe('a delivery shows', () => {
  const show = (message = 1) => getDelivery(call(), { webhookId, messageId: `msg_${message}` });

  test.each<[string, columns: Columns, nextAttemptAt: Date | null]>([
    ['when it is due', { due_at: at(HOUR) }, at(HOUR)],
    ['no attempt to come', { due_at: null }, null],
    ['an urgent one as due since the message', { due_at: EPOCH }, at(-HOUR)],
    ['none under way as due', { due_at: at(HOUR), lease_end: at(HOUR) }, null],
    ['one that was given up as due', { due_at: at(HOUR - 1), lease_end: at(HOUR) }, at(HOUR - 1)],
  ])('%s', async (_, columns, nextAttemptAt) => {
    await deliver(1, { webhook_id: another, due_at: at(5 * DAY) });
    await deliver(1, columns);
    const shown = { nextAttemptAt, type: '', payload: null, attempts: [] };
    expect(await show()).toMatchObject(shown);
    await sql`
      insert into webhook_messages (id, application_id, type, payload, created_at) overriding system value
      values (1, ${elsewhere}, 'event.deleted', '{}', ${NOW}), (1, ${here}, 'event.created', '{}', ${NOW})`;
    const { rows } = await listDeliveries(call(), tokens, { webhookId });
    expect(rows).toMatchObject([{ nextAttemptAt, type: 'event.created', messageId: 'msg_1' }]);
  });

  test('its own first 100 attempts in their order', async () => {
    await deliver(1);
    await deliver(2);
    const attempt = (of: string, message: number, first: number, last: number) => sql`
      insert into webhook_attempts (application_id, webhook_id, message_id, attempted_at, duration_ms)
      select application_id, ${of}, ${message}, ${NOW}, n from
        unnest(array[${elsewhere}, ${here}]::uuid[]) application_id, generate_series(${first}::integer, ${last}::integer) n`;
    await attempt(another, 1, 1, 2);
    await attempt(webhookId, 2, 7, 7);
    await attempt(webhookId, 1, 51, 101);
    await attempt(webhookId, 1, 1, 50);
    const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (__, n) => first + n);
    const { attempts } = await show();
    expect(attempts.map(({ durationMs }) => durationMs)).toEqual([...range(51, 101), ...range(1, 49)]);
    expect((await show(2)).attempts).toMatchObject([{ durationMs: 7 }]);
    expect(await reason(show(3))).toBe('DELIVERY_NOT_FOUND');
  });
});

test('pages of deliveries have each once, the newest first, whatever their status', async () => {
  const STATUSES = ['succeeded', 'pending', 'failed'];
  for (let message = 1; message <= 15; message++)
    await deliver(message, { status: STATUSES[message % 3], created_at: at(message < 7 ? -DAY : -HOUR) });
  await deliver(16, { webhook_id: another });
  const read = async (fields: Columns) => {
    const pages = [await listDeliveries(call(), tokens, { webhookId, pageSize: 1, ...fields })];
    while (pages.at(-1)?.nextPageToken)
      pages.push(
        await listDeliveries(call(), tokens, {
          webhookId,
          pageSize: 1,
          ...fields,
          pageToken: pages.at(-1)?.nextPageToken,
        }),
      );
    return pages.flatMap(({ rows }) => rows.map(({ messageId }) => Number(messageId.slice(4))));
  };
  expect(await read({})).toEqual([15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect(await read({ status: 'pending' })).toEqual([13, 10, 7, 4, 1]);
  expect(await read({ since: at(-HOUR).toISOString() })).toEqual([15, 14, 13, 12, 11, 10, 9, 8, 7]);
});
