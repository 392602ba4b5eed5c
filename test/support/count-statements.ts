import type { Database, Run } from '../../src/database/pool/database.ts';

/** Returns a `run` that counts the statements it runs. */
export function countStatements(database: Database, { timeoutMs = 60_000 } = {}): { run: Run; count: () => number } {
  let count = 0;
  return {
    run: (statement, parameters) => {
      count++;
      return database.run(statement, parameters, performance.now() + timeoutMs);
    },
    count: () => count,
  };
}
