/** Conditions of the statements about webhooks, a row each. What callers see: test/contract/webhooks.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { RowCipher } from '../../../../src/domain/crypto/aes-gcm.ts';
import { PageTokens } from '../../../../src/domain/pages/list.ts';
import { AddressPolicy } from '../../../../src/domain/webhooks/address-policy.ts';
import { createWebhook } from '../../../../src/domain/webhooks/create-webhook.ts';
import { deleteWebhook } from '../../../../src/domain/webhooks/delete-webhook.ts';
import { getDelivery } from '../../../../src/domain/webhooks/get-delivery.ts';
import { listDeliveries } from '../../../../src/domain/webhooks/list-deliveries.ts';
import { redeliver } from '../../../../src/domain/webhooks/redeliver.ts';
import { redeliverFailed } from '../../../../src/domain/webhooks/redeliver-failed.ts';
import { rotateSigningKey } from '../../../../src/domain/webhooks/rotate-signing-key.ts';
import { sendTestMessage } from '../../../../src/domain/webhooks/send-test-message.ts';
import { updateWebhook } from '../../../../src/domain/webhooks/update-webhook.ts';
import { at, DAY, HOUR, NOW, openDomain, reason } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, callOf, readTold, createApplication, createUser } = await openDomain();
const cipher = new RowCipher([randomBytes(32)]);
const parts = { cipher, policy: new AddressPolicy([]) };
const tokens = new PageTokens([randomBytes(32)]);
const EPOCH = new Date(0);
const URL = 'https://hooks.test';

let here: string;
let ownerId: string;
let webhookId: string;
let another: string;

type Columns = Readonly<Record<string, unknown>>;

/** Inserts a webhook of the application with a queue and an earlier key. */
async function addWebhook() {
  const id = `wh_${randomBytes(16).toString('hex')}`;
  const ids = { application_id: here, webhook_id: id };
  const signing_key = cipher.encrypt('whsec_', { applicationId: here, id });
  await insert('webhooks', { application_id: here, id, url: URL, owner_id: ownerId, signing_key });
  await insert('webhook_queues', ids);
  await insert('webhook_signing_keys', ids);
  return id;
}

const addOwner = async (columns: Columns = {}, applicationId = here) => {
  const userId = await createUser(columns);
  await insert('application_users', { application_id: applicationId, user_id: userId });
  return userId;
};

beforeEach(async () => {
  here = await createApplication();
  ownerId = await addOwner();
  [webhookId, another] = [await addWebhook(), await addWebhook()];
  readTold();
});

const call = () => callOf(here);
const set = (table: string, columns: Columns, of = webhookId) =>
  sql`update ${sql(table)} set ${sql(columns as never)} where ${sql(table === 'webhooks' ? 'id' : 'webhook_id')} = ${of}`;
const readQueue = async (of = webhookId) => (await sql`select * from webhook_queues where webhook_id = ${of}`)[0];
const deliver = (message_id: number, columns: Columns = {}) =>
  insert('webhook_deliveries', { application_id: here, webhook_id: webhookId, message_id, ...columns });
const readDeliveries = (columns: readonly string[]) => sql`
  select ${sql(columns as string[])} from webhook_deliveries where application_id = ${here}
  order by webhook_id = ${another}, message_id`;

describe('a new webhook has an owner', () => {
  test.each<[string, find: () => Promise<string>, answer: string]>([
    ['who is a user of the application', () => addOwner(), 'done'],
    ['who is not deleted', () => addOwner({ deleted_at: NOW }), 'USER_NOT_FOUND'],
    [
      'who is no user of another application alone',
      async () => addOwner({}, await createApplication()),
      'USER_NOT_FOUND',
    ],
  ])('%s', async (_, find, answer) => {
    const fields = { url: URL, ownerId: await find(), eventTypes: ['*'] };
    expect(await reason(createWebhook(call(), { ...parts, webhooksPerApplication: 3 }, fields))).toBe(answer);
    expect(await reason(updateWebhook(call(), parts, { webhookId, ownerId: fields.ownerId }))).toBe(answer);
  });

  test('who may have gone since, while others are changed', async () => {
    await set('webhooks', { owner_id: await addOwner({ deleted_at: NOW }) });
    expect(await reason(updateWebhook(call(), parts, { webhookId, description: 'New' }))).toBe('done');
  });
});

describe('an update', () => {
  const FAILING = { failed_batches: 2, failing_since: at(-HOUR), next_at: at(HOUR), wake_count: 5 };
  const FRESH = { failed_batches: 0, failing_since: null, next_at: NOW, wake_count: '6' };
  const KEPT = { ...FAILING, wake_count: '5' };
  const DISABLED = { is_active: false, disabled_reason: 'failing' };
  const lease = randomUUID();

  test.each<[string, before: Columns, queue: Columns, given: Columns, after: Columns, isChanged: boolean]>([
    ['to what is there changes nothing', {}, {}, { url: URL, isActive: true }, KEPT, false],
    ['of the description leaves the queue', {}, {}, { description: 'New' }, KEPT, true],
    ['of the URL tries at once', {}, {}, { url: `${URL}/new` }, FRESH, true],
    [
      'of the URL waits for who delivers',
      {},
      { lease },
      { url: `${URL}/new` },
      { ...FRESH, next_at: at(HOUR), lease },
      true,
    ],
    ['to inactive tries no more', {}, {}, { isActive: false }, { ...FRESH, next_at: null }, true],
    [
      'of the URL of an inactive one tries nothing',
      DISABLED,
      {},
      { url: `${URL}/new` },
      { ...FRESH, next_at: null },
      true,
    ],
    ['to active again tries at once', DISABLED, {}, { isActive: true }, FRESH, true],
    ['to inactive, as Usher has done, is an update', DISABLED, {}, { isActive: false }, KEPT, true],
  ])('%s', async (_, before, queue, given, after, isChanged) => {
    await set('webhooks', { is_active: true, ...before });
    for (const of of [webhookId, another]) await set('webhook_queues', { ...FAILING, ...queue }, of);
    const updated = await updateWebhook(call(), parts, { webhookId, ...given });
    expect(await readQueue()).toMatchObject(after);
    expect(await readQueue(another)).toMatchObject({ ...KEPT, ...queue });
    expect(updated.updatedAt).toEqual(isChanged ? NOW : at(-DAY));
    expect(updated.disabledReason).toBe('isActive' in given ? null : (before.disabled_reason ?? null));
    const rows =
      await sql`select id, url, updated_at from webhooks where application_id = ${here} order by id = ${another}`;
    expect(rows).toEqual([
      { id: webhookId, url: given.url ?? URL, updated_at: updated.updatedAt },
      { id: another, url: URL, updated_at: at(-DAY) },
    ]);
    const audit = await sql`select resource from audit_events where application_id = ${here}`;
    expect(audit).toEqual(isChanged ? [{ resource: webhookId }] : []);
  });
});

test('a deletion leaves the queue and the keys of the others, and the webhook of that ID elsewhere', async () => {
  const elsewhere = await createApplication();
  await insert('webhooks', { application_id: elsewhere, id: webhookId, owner_id: ownerId });
  for (const table of ['webhook_queues', 'webhook_signing_keys'] as const)
    await insert(table, { application_id: elsewhere, webhook_id: webhookId });
  await deleteWebhook(call(), { webhookId });
  for (const table of ['webhooks', 'webhook_queues', 'webhook_signing_keys'])
    expect(await sql`select from ${sql(table)} where application_id = ${elsewhere}`).toHaveLength(1);
  for (const table of ['webhooks', 'webhook_queues', 'webhook_signing_keys']) {
    const column = table === 'webhooks' ? 'id' : 'webhook_id';
    expect(await sql`select ${sql(column)} as id from ${sql(table)} where application_id = ${here}`).toEqual([
      { id: another },
    ]);
  }
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
    await deliver(1, columns);
    const shown = { nextAttemptAt, type: '', payload: null, attempts: [] };
    expect(await show()).toMatchObject(shown);
    await sql`
      insert into webhook_messages (id, application_id, type, payload, created_at)
      overriding system value values (1, ${here}, 'event.created', '{}', ${NOW})`;
    const { rows } = await listDeliveries(call(), tokens, { webhookId });
    expect(rows).toMatchObject([{ nextAttemptAt, type: 'event.created', messageId: 'msg_1' }]);
  });

  test('its own first 100 attempts in their order', async () => {
    await deliver(1);
    await deliver(2);
    const attempt = (of: string, message: number, first: number, last: number) => sql`
      insert into webhook_attempts (application_id, webhook_id, message_id, attempted_at, duration_ms)
      select ${here}, ${of}, ${message}, ${NOW}, n from generate_series(${first}::integer, ${last}::integer) n`;
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
  for (let message = 1; message <= 9; message++)
    await deliver(message, { status: STATUSES[message % 3], created_at: at(message < 4 ? -DAY : -HOUR) });
  await deliver(10, { webhook_id: another });
  const read = async (fields: Columns) => {
    const pages = [await listDeliveries(call(), tokens, { webhookId, pageSize: 2, ...fields })];
    while (pages.at(-1)?.nextPageToken)
      pages.push(
        await listDeliveries(call(), tokens, {
          webhookId,
          pageSize: 2,
          ...fields,
          pageToken: pages.at(-1)?.nextPageToken,
        }),
      );
    return pages.flatMap(({ rows }) => rows.map(({ messageId }) => Number(messageId.slice(4))));
  };
  expect(await read({})).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect(await read({ status: 'pending' })).toEqual([7, 4, 1]);
  expect(await read({ since: at(-HOUR).toISOString() })).toEqual([9, 8, 7, 6, 5, 4]);
});

describe('a new signing key', () => {
  const keysOf = (of: string) => sql`select signing_key, expires_at from webhook_signing_keys where webhook_id = ${of}`;
  const readKey = async (of = webhookId) =>
    (await sql`select signing_key from webhooks where id = ${of}`)[0]?.signing_key;

  test.each<[string, given: Columns, left: number]>([
    ['keeps the one that came meanwhile', {}, 2],
    ['ends all others without an overlap', { overlapSeconds: 0 }, 0],
  ])('%s', async (_, given, left) => {
    const before = await readKey(another);
    const meanwhile = cipher.encrypt('whsec_meanwhile', { applicationId: here, id: webhookId });
    const rotating = callOf(
      here,
      {},
      callAt(NOW, () => set('webhooks', { signing_key: meanwhile })),
    );
    const { signingKey, updatedAt } = await rotateSigningKey(rotating, cipher, { webhookId, ...given });
    expect(cipher.decrypt(await readKey(), { applicationId: here, id: webhookId })).toBe(signingKey);
    expect(updatedAt).toEqual(NOW);
    const kept = await keysOf(webhookId);
    expect(kept).toHaveLength(left);
    if (left > 0) expect(kept).toContainEqual({ signing_key: meanwhile, expires_at: at(DAY) });
    expect([await readKey(another), (await keysOf(another)).length]).toEqual([before, 1]);
  });
});
