/** Conditions of the statements that read pages. What holds for every list: test/integration/contract/lists.test.ts. */
import { randomBytes } from 'node:crypto';
import { sql as part } from 'drizzle-orm';
import { beforeEach, describe, expect, test } from 'vitest';
import { groups } from '../../../../src/database/schema/group-schema.ts';
import { check } from '../../../../src/domain/core/validation.ts';
import { createList, cursorRule, PageTokens, pageRules, selectPage } from '../../../../src/domain/pages/list.ts';
import { NOW, openDomain, reason } from '../../../support/domain-scene.ts';

const { sql, callAt } = await openDomain();
const tokens = new PageTokens([randomBytes(32)]);

const columns = { id: groups.id, createdAt: groups.createdAt };
const order = [groups.createdAt, groups.id] as const;
/** Lists few of the rows that it looks through. */
const listFew = createList('select_few_groups', {
  ...{ name: 'few groups', columns, order },
  among: part`deleted_at is null`,
  where: part`display_name is not null`,
});

/** Inserts rows, so many milliseconds apart, of which those from a place on are listed. */
const fill = (count: number, { listedFrom = 1, apartMs = 1 }) => sql`
  insert into groups (id, name, display_name, created_at)
  select gen_random_uuid(), gen_random_uuid()::text, case when n >= ${listedFrom} then 'listed' end,
    ${NOW}::timestamptz - n * ${apartMs}::integer * interval '1 millisecond'
  from generate_series(1, ${count}::integer) n`;
const readListed = async () =>
  (await sql`select id from groups where display_name is not null order by created_at desc, id desc`).map(
    ({ id }) => id,
  );
const idsOf = ({ rows }: Awaited<ReturnType<typeof listFew>>) => rows.map(({ id }) => id);

beforeEach(() => sql`delete from groups`);

test.each([
  ['one after the other', 1],
  ['at the same instant', 0],
])('pages have the newest of many rows that were made %s', async (_, apartMs) => {
  await fill(150, { apartMs });
  const first = await listFew(callAt(), tokens, { pageSize: 100 });
  const last = await listFew(callAt(), tokens, { pageSize: 100, pageToken: first.nextPageToken });
  expect([...idsOf(first), ...idsOf(last)]).toEqual(await readListed());
  expect(last.nextPageToken).toBe('');
});

describe('a list that looks through 500 rows', () => {
  test('goes on behind them on the next page', async () => {
    await fill(501, { listedFrom: 501 });
    const first = await listFew(callAt(), tokens, {});
    expect([idsOf(first), first.nextPageToken === '']).toEqual([[], false]);
    const last = await listFew(callAt(), tokens, { pageToken: first.nextPageToken });
    expect([idsOf(last), last.nextPageToken]).toEqual([await readListed(), '']);
  });

  test('ends with them', async () => {
    await fill(499, { listedFrom: 499 });
    const only = await listFew(callAt(), tokens, {});
    expect([idsOf(only), only.nextPageToken]).toEqual([await readListed(), '']);
  });

  test('has no further page where another statement has found all', async () => {
    const found = selectPage('select_found_groups', { columns, order, where: part`display_name is not null` });
    const listFound = createList('select_groups_or_found', {
      ...{ name: 'found groups', columns, order },
      among: part`deleted_at is null`,
      find: () => found,
    });
    await fill(501, { listedFrom: 501 });
    const only = await listFound(callAt(), tokens, {});
    expect([idsOf(only), only.nextPageToken]).toEqual([await readListed(), '']);
  });
});

test.each([
  [0, 'VALIDATION_FAILED'],
  [1, 'done'],
  [100, 'done'],
  [101, 'VALIDATION_FAILED'],
])('a page of %d rows: %s', async (pageSize, answer) => {
  expect(await reason(listFew(callAt(), tokens, { pageSize }))).toBe(answer);
});

test.each([
  ['page token', pageRules.pageToken],
  ['cursor', cursorRule],
])('a %s may be empty, and has 4,096 characters at most', (_, rule) => {
  for (const token of ['', 'a'.repeat(4_096)]) expect(check({ token }, { token: rule })).toEqual({ token });
  expect(() => check({ token: 'a'.repeat(4_097) }, { token: rule })).toThrow('Validation failed');
});

test('a list has the columns of its order', () => {
  const make = () => createList('select_disordered', { name: 'disordered', columns: { id: groups.id }, order });
  expect(make).toThrow('Rows have no created_at');
});
