import type postgres from 'postgres';

/** What a query of postgres.js has beyond its types. */
interface DriverQuery {
  readonly executed: boolean;
  resolve(result: unknown): void;
  handle(): Promise<void>;
}

const mended = new WeakSet<object>();

/**
 * Removes the holes that postgres.js 3.4.9 leaves in results. It numbers rows with a counter of the connection, which it
 * resets at CommandComplete, but not when a statement fails after its first rows (porsager/postgres#1181). The first
 * result that completes after that begins with as many holes as rows were lost, on whichever statement that is.
 *
 * Dropping them is exact. Each statement gets a new array at ReadyForQuery, and the driver adds its rows at consecutive
 * indices, so what is missing is missing at the start, and what is there is the rows of this statement in their order.
 * Of several results of one query only the first can have holes. `count`, `command` and `columns` come with each
 * result's own messages. In a transaction block no holes reach a result: the next command to complete is ROLLBACK.
 *
 * It changes the prototype of all queries, so no client and no way to send a statement is left out.
 */
export function mendResults(client: postgres.Sql): void {
  // A query is sent when it is awaited, so this one never is.
  const prototype: DriverQuery = Object.getPrototypeOf(client.unsafe(''));
  if (mended.has(prototype)) return;
  mended.add(prototype);
  const { handle } = prototype;
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
