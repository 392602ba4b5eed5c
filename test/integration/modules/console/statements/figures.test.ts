/** Conditions of what the console counts and lists of all applications, a row each. What operators see: ../screens.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { PageTokens } from '../../../../../src/domain/pages/list.ts';
import { listEndingKeys } from '../../../../../src/modules/console/statements/keys.ts';
import {
  listDisabledWebhooks,
  listFailingWebhooks,
  readHourlyCounts,
  readTotals,
} from '../../../../../src/modules/console/statements/overview.ts';
import {
  countDeliveries,
  describeMessages,
  readQueueState,
} from '../../../../../src/modules/console/statements/webhooks.ts';
import { at, DAY, HOUR, NOW, openDomain } from '../../../../support/domain-scene.ts';

const { sql, insert, callAt, callOf, createApplication, createUser } = await openDomain();
const tokens = new PageTokens([randomBytes(32)]);
const call = callAt();

type Columns = Readonly<Record<string, unknown>>;

let here: string;
let other: string;
let closed: string;
beforeEach(async () => {
  await sql`truncate api_keys, webhooks, webhook_queues, webhook_deliveries, sessions, users, hourly_counts cascade`;
  [here, other] = [await createApplication({ name: `Here ${randomUUID()}` }), await createApplication()];
  closed = await createApplication({ deleted_at: NOW });
});

const named = (ids: Columns) =>
  Object.fromEntries(
    Object.entries(ids).map(([key, value]) => [key, { other, closed }[String(value)] ?? value] as const),
  );

describe('the keys that end soon', () => {
  const add = (columns: Columns = {}) =>
    insert('api_keys', { application_id: here, name: 'deploy', expires_at: at(DAY), ...named(columns) });

  test.each<[string, Columns, isListed: boolean]>([
    ['tomorrow', {}, true],
    ['next', { expires_at: at(1) }, true],
    ['just before 14 days have passed', { expires_at: at(14 * DAY - 1) }, true],
    ['after 14 days', { expires_at: at(14 * DAY) }, false],
    ['now', { expires_at: NOW }, false],
    ['never', { expires_at: null }, false],
    ['that was revoked', { revoked_at: NOW }, false],
    ['that has a successor', { replaced_by: randomUUID() }, false],
    ['of a deleted application', { application_id: 'closed' }, false],
  ])('one that ends %s', async (_, columns, isListed) => {
    await add(columns);
    const [{ name } = {}] = await sql<{ name: string }[]>`select name from applications where id = ${here}`;
    const shown = { applicationId: here, applicationName: name, name: 'deploy' };
    expect(await listEndingKeys(call)).toMatchObject(isListed ? [shown] : []);
  });

  test('are the ten that end first', async () => {
    for (let day = 12; day > 0; day--) await add({ name: `day ${day}`, expires_at: at(day * DAY) });
    const names = (await listEndingKeys(call)).map(({ name }) => name);
    expect(names).toEqual(Array.from({ length: 10 }, (_, index) => `day ${index + 1}`));
  });
});

describe('the totals', () => {
  const setEstimate = (users: number, sessions = users) =>
    sql`update pg_class set reltuples = case oid when 'users_list_idx'::regclass then ${users}::real else ${sessions}::real end
      where oid in ('users_list_idx'::regclass, 'sessions_list_idx'::regclass)`;
  const deliver = (count: number, columns: Columns = {}) => sql`
    insert into webhook_deliveries (application_id, webhook_id, message_id, created_at, due_at)
    select ${here}, 'wh_', n, now(), ${(columns.due_at as Date | null) ?? null} from generate_series(1, ${count}::int) n`;

  test('have no deleted user, no expired session and no finished delivery', async () => {
    await setEstimate(-1);
    const userId = await createUser();
    await createUser({ deleted_at: NOW });
    for (const expires_at of [NOW, at(1), at(2), at(-1)])
      await insert('sessions', { application_id: await createApplication(), user_id: userId, expires_at });
    await deliver(4);
    await sql`update webhook_deliveries set due_at = ${NOW} where message_id > 1`;
    expect(await readTotals(call)).toEqual({
      users: { count: 1, kind: 'exact' },
      sessions: { count: 2, kind: 'exact' },
      pending: { count: 3, kind: 'exact' },
    });
  });

  test.each<[estimate: number, shown: object]>([
    [0, { count: 1, kind: 'exact' }],
    [299, { count: 1, kind: 'exact' }],
    [300, { count: 300, kind: 'about' }],
    [5_000, { count: 5_000, kind: 'about' }],
  ])('are those that Postgres has estimated if it has estimated many: %i', async (estimate, shown) => {
    await setEstimate(estimate);
    await insert('sessions', { application_id: here, user_id: await createUser() });
    expect(await readTotals(call)).toMatchObject({ users: shown, sessions: shown });
  });

  test('of users and sessions are estimated apart', async () => {
    await setEstimate(400, 500);
    await insert('sessions', { application_id: here, user_id: await createUser() });
    expect(await readTotals(call)).toMatchObject({ users: { count: 400 }, sessions: { count: 500 } });
  });

  test.each<[waiting: number, shown: object]>([
    [999, { count: 999, kind: 'exact' }],
    [1_000, { count: 1_000, kind: 'at least' }],
    [1_002, { count: 1_000, kind: 'at least' }],
  ])('end at a thousand: %i', async (waiting, shown) => {
    await deliver(waiting, { due_at: NOW });
    expect((await readTotals(call)).pending).toEqual(shown);
  });
});

test('the counts of the last 24 hours are those of this hour and of 23 before, in the order of time and of names', async () => {
  const now = new Date('2026-03-02T10:59:59Z');
  const hours = ['2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z', '2026-03-02T10:00:00Z', '2026-03-02T09:00:00Z'];
  for (const hour of hours) for (const name of ['b', 'a']) await insert('hourly_counts', { name, hour, count: 1 });
  const rows = await readHourlyCounts(callAt(now));
  expect(rows.map(({ hour, name }) => `${hour.toISOString().slice(8, 13)} ${name}`)).toEqual([
    ...['01T11 a', '01T11 b', '02T09 a', '02T09 b', '02T10 a', '02T10 b'],
  ]);
});

/** Inserts a webhook that fails, or that Usher has disabled. */
async function addWebhook({ id = `wh_${randomUUID()}`, ...columns }: Columns = {}, queue: Columns = {}) {
  const application_id = named(columns).application_id ?? here;
  await insert('webhooks', { id, url: `https://hooks.test/${id}`, ...columns, application_id });
  const state = { next_at: NOW, failed_batches: 1, failing_since: at(-DAY), ...queue };
  await insert('webhook_queues', { application_id, webhook_id: id, ...state });
  return String(id);
}

describe('the webhooks that fail', () => {
  const list = async () => (await listFailingWebhooks(call)).rows.map(({ id }) => id);

  test.each<[string, webhook: Columns, queue: Columns, isListed: boolean]>([
    ['and are tried again', {}, {}, true],
    ['only in tests', {}, { failing_since: null }, true],
    ['and are not tried again', {}, { next_at: null }, false],
    ['no longer', {}, { failed_batches: 0 }, false],
    ['and were deactivated', { is_active: false }, {}, false],
    ['in a deleted application', { application_id: 'closed' }, {}, false],
  ])('%s', async (_, webhook, queue, isListed) => {
    const id = await addWebhook(webhook, queue);
    expect(await list()).toEqual(isListed ? [id] : []);
  });

  test('are named with their own application and URL', async () => {
    const id = await addWebhook();
    await addWebhook({ id, application_id: 'other', url: 'https://other.test' });
    await addWebhook({ url: 'https://another.test' }, { next_at: null });
    const [{ name } = {}] = await sql<{ name: string }[]>`select name from applications where id = ${here}`;
    const { rows, hasMore } = await listFailingWebhooks(call);
    const urls = new Map(rows.map((row) => [row.applicationId, row.url]));
    expect(urls).toEqual(
      new Map([
        [here, `https://hooks.test/${id}`],
        [other, 'https://other.test'],
      ]),
    );
    expect(rows.find(({ applicationId }) => applicationId === here)?.applicationName).toBe(name);
    expect(hasMore).toBe(false);
  });

  test.each([
    [10, false],
    [11, true],
    [12, true],
  ])('are ten of %i, and there are more: %s', async (count, hasMore) => {
    for (let day = 1; day <= count; day++) await addWebhook({ id: `wh_${day}` }, { failing_since: at(-day * DAY) });
    const found = await listFailingWebhooks(call);
    const longest = Array.from({ length: 10 }, (_, index) => `wh_${count - index}`);
    expect({ ids: found.rows.map(({ id }) => id), hasMore: found.hasMore }).toEqual({ ids: longest, hasMore });
  });

  test('since the same instant are in the order of their IDs', async () => {
    for (const id of ['wh_b', 'wh_c', 'wh_a']) await addWebhook({ id });
    expect(await list()).toEqual(['wh_a', 'wh_b', 'wh_c']);
  });
});

describe('the webhooks that Usher has disabled', () => {
  test.each<[string, webhook: Columns, isListed: boolean]>([
    ['because they were gone', { disabled_reason: 'GONE' }, true],
    ['are not those that somebody has deactivated', { is_active: false }, false],
    ['in a deleted application', { disabled_reason: 'GONE', application_id: 'closed' }, false],
  ])('%s', async (_, webhook, isListed) => {
    const id = await addWebhook(webhook);
    const [{ name } = {}] = await sql<{ name: string }[]>`select name from applications where id = ${here}`;
    const { rows } = await listDisabledWebhooks(call, tokens, {});
    expect(rows).toMatchObject(isListed ? [{ id, applicationName: name, disabledReason: 'GONE' }] : []);
    expect(rows).toHaveLength(isListed ? 1 : 0);
  });
});

describe('the deliveries of a webhook', () => {
  const filter = { webhookId: 'wh_1', status: 'failed', since: NOW } as const;
  const add = (columns: Columns = {}) =>
    insert('webhook_deliveries', {
      ...{ application_id: here, webhook_id: 'wh_1', message_id: 1, status: 'failed', created_at: NOW },
      ...named(columns),
    });

  test.each<[string, Columns, count: number]>([
    ['since that instant', {}, 1],
    ['before', { created_at: at(-1) }, 0],
    ['of another state', { status: 'pending' }, 0],
    ['of another webhook', { webhook_id: 'wh_2' }, 0],
    ['of another application', { application_id: 'other' }, 0],
  ])('%s are counted', async (_, columns, count) => {
    await add(columns);
    expect(await countDeliveries(callOf(here), filter)).toBe(count);
  });

  test('are counted up to a thousand', async () => {
    await sql`
      insert into webhook_deliveries (application_id, webhook_id, message_id, status, created_at)
      select ${here}, 'wh_1', n, 'failed', ${NOW} from generate_series(1, 1001) n`;
    expect(await countDeliveries(callOf(here), filter)).toBe(1_000);
  });

  test.each([
    [0, '0 messages'],
    [1, '1 message'],
    [2, '2 messages'],
    [999, '999 messages'],
    [1_000, '1,000 messages or more'],
  ])('are described as messages: %i', (count, text) => {
    expect(describeMessages(count)).toBe(text);
  });
});

describe('the state of a queue', () => {
  const EPOCH = new Date(0);
  const read = () => readQueueState(callOf(here), 'wh_1');
  let number = 0;
  const due = (due_at: Date | null, columns: Columns = {}) =>
    insert('webhook_deliveries', {
      ...{ application_id: here, webhook_id: 'wh_1', message_id: ++number, due_at },
      ...named(columns),
    });
  const fail = (failing_since: Date, columns: Columns = {}) =>
    insert('webhook_queues', { application_id: here, webhook_id: 'wh_1', failing_since, ...named(columns) });

  test('is nothing where nothing was ever sent', async () => {
    await fail(at(-DAY), { webhook_id: 'wh_2' });
    await fail(at(-DAY), { application_id: 'other' });
    expect(await read()).toEqual({ failingSince: null, nextAttemptAt: null });
  });

  test('has the next attempt of the schedule, not an urgent one', async () => {
    await fail(at(-HOUR));
    for (const when of [at(HOUR), EPOCH, at(DAY), null]) await due(when);
    await due(at(1), { webhook_id: 'wh_2' });
    await due(at(1), { application_id: 'other' });
    expect(await read()).toEqual({ failingSince: at(-HOUR), nextAttemptAt: at(HOUR) });
  });
});
