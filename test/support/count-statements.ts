import type { Database, Run } from '../../src/database/pool/database.ts';

interface Counted {
  readonly run: Run;
  readonly count: () => number;
  /** How many rows the statements have returned. */
  readonly countRows: () => number;
}

/** Returns a `run` that counts the statements it runs, and their rows. */
export function countStatements(database: Pick<Database, 'run'>, { timeoutMs = 60_000 } = {}): Counted {
  let [count, rowCount] = [0, 0];
  return {
    run: async (statement, parameters) => {
      count++;
      const rows = await database.run(statement, parameters, performance.now() + timeoutMs);
      if (Array.isArray(rows)) rowCount += rows.length;
      return rows;
    },
    count: () => count,
    countRows: () => rowCount,
  };
}
