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

test.each([{}, { name: undefined }])('%o: a parameter without a value is an error that names it', (parameters) => {
  const prepared = statement('x')`select ${p.text('name')}`();
  expect(() => prepared.encode(parameters)).toThrow('The parameter name has no value');
});

test('values are read by the names of their columns, and null is kept', () => {
  const rows = [[null, '2026-01-02 03:04:05.678+00', true]];
  const columns = [{ name: 'last_at' }, { name: 'first_at' }, { name: 'is_new' }];
  const type = { isNew: t.boolean, times: { firstAt: t.instant, lastAt: nullable(t.instant) } };
  const firstAt = new Date('2026-01-02T03:04:05.678Z');
  const prepared = statement('x', type)`select`();
  expect(prepared.decode(rows, columns)).toEqual([{ isNew: true, times: { firstAt, lastAt: null } }]);
});
