import { openClient } from '../../../src/database/open-client.ts';
import type { Query } from './sql-statements.ts';

const CONNECTIONS = 4;

/** Single-connection clients of postgres.js, the least busy one next: the same kind of lanes as Usher's. */
export function openConnections(url: string): Query {
  const lanes = Array.from({ length: CONNECTIONS }, () => ({
    client: openClient(url, { max: 1, fetch_types: false, max_lifetime: null }),
    pending: 0,
  }));
  return async <Row extends object>({ text }: { text: string }, values: Parameters<Query>[1]) => {
    const lane = lanes.reduce((least, candidate) => (candidate.pending < least.pending ? candidate : least));
    lane.pending++;
    try {
      return await lane.client.unsafe<Row[]>(text, [...values], { prepare: true });
    } finally {
      lane.pending--;
    }
  };
}
