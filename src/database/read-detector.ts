import { drizzle } from 'drizzle-orm/postgres-js';
import type { Statement } from './statement.ts';

const WRITES =
  /\b(insert into|update|delete from|merge into|for (no key )?update|for (key )?share|nextval|pg_try_advisory_xact_lock)\b/i;

/** Only builds statements: it has no connection. */
const db = drizzle.mock();

/** Distinguishes statements that only read from those whose commit may wait for a standby. */
export class ReadDetector {
  readonly #known = new Map<Statement<unknown>, boolean>();

  /** Returns false for a statement that may write, or lock something. */
  isRead(statement: Statement<unknown>): boolean {
    const known = this.#known.get(statement);
    if (known !== undefined) return known;
    const isRead = !WRITES.test(statement(db).getQuery().sql);
    this.#known.set(statement, isRead);
    return isRead;
  }
}
