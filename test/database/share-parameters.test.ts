import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import { expect, test } from 'vitest';
import { users } from '../../src/database/schema.ts';
import { shareParameters } from '../../src/database/share-parameters.ts';

const id = sql.placeholder('id');
const now = sql`${sql.param(sql.placeholder('now'), users.createdAt)}`;

test('a placeholder is one parameter, however often the statement has it', () => {
  const query = drizzle.mock().select({ now }).from(users).where(sql`${users.id} = ${id} or ${now} > ${id}`).toSQL();
  expect(query.params).toHaveLength(4);
  const { sql: text, params } = shareParameters(query);
  expect(text).toBe('select $1 from "users" where "users"."id" = $2 or $1 > $2');
  expect(params).toEqual([query.params[0], query.params[1]]);
});

test('placeholders that are encoded differently and values that are no placeholders stay apart', () => {
  const where = sql`${sql.placeholder('now')} = ${now} and ${'a'} = ${'a'}`;
  const query = drizzle.mock().select({ id: users.id }).from(users).where(where).toSQL();
  expect(shareParameters(query)).toEqual(query);
});
