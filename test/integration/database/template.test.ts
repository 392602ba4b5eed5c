import { drizzle } from 'drizzle-orm/postgres-js';
import { expect, test } from 'vitest';
import { nullable, p, statement, t } from '../../../src/database/sql/template.ts';

const query = (tagged: ReturnType<ReturnType<typeof statement>>) => tagged(drizzle.mock()).getQuery();

test('a parameter has one number and one cast, however often the statement has it', () => {
  const { sql, params } = query(statement('x')`
    select from users where id = ${p.uuid('id')} and created_at < ${p.instant('now')} or id = ${p.uuid('id')}`);
  expect(sql).toBe('select from users where id = $1::uuid and created_at < $2::timestamptz or id = $1');
  expect(params).toHaveLength(2);
});

test('parameters of one name and different types stay apart', () => {
  expect(query(statement('x')`select ${p.text('now')}, ${p.instant('now')}`).params).toHaveLength(2);
});

test('comments and line breaks are not sent', () => {
  const { sql } = query(statement('x')`
    select 1 -- because
    from users`);
  expect(sql).toBe('select 1 from users');
});

test('a parameter without a value is an error that names it, before anything is sent', async () => {
  const prepared = statement('x')`select ${p.text('name')}`(drizzle.mock());
  await expect(prepared.execute({})).rejects.toThrow('The parameter name has no value');
});

test('values are read by the names of their columns, and null is kept', async () => {
  const rows = Object.assign([[null, '2026-01-02 03:04:05.678+00', true]], {
    columns: [{ name: 'last_at' }, { name: 'first_at' }, { name: 'is_new' }],
  });
  const $client = { unsafe: () => ({ values: async () => rows }) };
  const type = { isNew: t.boolean, times: { firstAt: t.instant, lastAt: nullable(t.instant) } };
  const prepared = statement('x', type)`select`(Object.assign(drizzle.mock(), { $client }));
  const firstAt = new Date('2026-01-02T03:04:05.678Z');
  expect(await prepared.execute({})).toEqual([{ isNew: true, times: { firstAt, lastAt: null } }]);
});
