import type { PostgresClient } from './driver.ts';

/** Members of a postgres.js query that its types omit. */
interface DriverQuery {
  readonly executed: boolean;
  resolve(result: unknown): void;
  handle(): Promise<void>;
}

const mended = new WeakSet<object>();

/**
 * Removes the holes that postgres.js 3.4.9 leaves in results. It numbers rows with a counter of the connection, which
 * it resets at CommandComplete, but not when a statement fails after its first rows (porsager/postgres#1181). The next
 * result on the connection, whichever statement it belongs to, then begins with as many holes as rows were lost.
 *
 * Dropping the holes restores the exact result. Each statement gets a new array at ReadyForQuery, and the driver adds
 * its rows at consecutive indices. So all holes are at the start, and all other elements are rows of this statement, in
 * order. If a query has several results, only the first can have holes. `count`, `command` and `columns` come from
 * messages of each result. In a transaction block no result has holes, because the next command to complete is
 * ROLLBACK.
 *
 * The function changes the prototype of queries, so it covers every client and every way to send a statement.
 *
 * @throws Error if the driver has no such queries
 */
export function mendResults(client: PostgresClient): void {
  // postgres.js sends a query when it is awaited, so this one is never sent.
  const query = client.unsafe('');
  const prototype: DriverQuery = Object.getPrototypeOf(query);
  if (mended.has(prototype)) return;
  mended.add(prototype);
  const { handle } = prototype;
  if (!handle || !('executed' in query) || !('resolve' in query))
    throw new Error('The installed postgres.js is another than that of package-lock.json');
  prototype.handle = function (this: DriverQuery) {
    if (!this.executed) {
      const { resolve } = this;
      this.resolve = (result) => {
        if (Array.isArray(result)) {
          dropHoles(result);
          if (Array.isArray(result[0])) dropHoles(result[0]);
        }
        resolve(result);
      };
    }
    return handle.call(this);
  };
}

function dropHoles(rows: unknown[]): void {
  if (rows.length === 0 || 0 in rows) return;
  rows.splice(
    0,
    rows.findIndex((row) => row !== undefined),
  );
}
