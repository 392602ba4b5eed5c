import { openClient } from '../../../src/database/open-client.ts';
import type { Query } from './sql-statements.ts';

const CONNECTIONS = 4;

/** Opens single-connection clients of postgres.js, as Usher does. Each statement runs on the least busy one. */
export function openConnections(url: string): Query {
  const connections = Array.from({ length: CONNECTIONS }, () => ({
    client: openClient(url, { max: 1, fetch_types: false, max_lifetime: null }),
    pending: 0,
  }));
  return async <Row extends object>({ text }: { text: string }, values: Parameters<Query>[1]) => {
    const connection = connections.reduce((least, other) => (other.pending < least.pending ? other : least));
    connection.pending++;
    try {
      return await connection.client.unsafe<Row[]>(text, [...values], { prepare: true });
    } finally {
      connection.pending--;
    }
  };
}
