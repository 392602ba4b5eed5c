/** A common choice: Fastify with `pg` and SQL by hand. */
import { Pool } from 'pg';
import { serveFastify } from './serve-fastify.ts';
import { createSqlStatements } from './sql-statements.ts';

await serveFastify((connectionString) => {
  const pool = new Pool({ connectionString });
  // A named statement is prepared once per connection.
  return createSqlStatements(
    async <Row extends object>({ name, text }: { name: string; text: string }, values: readonly unknown[]) => {
      const { rows } = await pool.query<Row>({ name, text, values: [...values] });
      return rows;
    },
  );
});
