import { Pool } from 'pg';
import type { Query, SqlStatement } from './sql-statements.ts';

/** A pool of `pg` as it comes, with named statements, which it prepares once per connection. */
export function openPgPool(url: string): Query {
  const pool = new Pool({ connectionString: url });
  return async <Row extends object>({ name, text }: SqlStatement, values: Parameters<Query>[1]) => {
    const { rows } = await pool.query<Row>({ name, text, values: [...values] });
    return rows;
  };
}
