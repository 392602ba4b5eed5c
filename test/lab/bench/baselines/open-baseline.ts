import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { type Config, readConfig } from '../../../../src/config/config.ts';
import { openClient } from '../../../../src/database/connection/open-client.ts';
import { createLogger } from '../../../../src/log.ts';
import { createOperations, type Operations } from './operations.ts';
import type { Query } from './statements.ts';

export interface Baseline {
  readonly config: Config;
  readonly logger: Logger;
  readonly operations: Operations;
}

const CONNECTIONS = 4;

/** Reads the settings of Usher, and opens everything a server needs between its protocol and the database. */
export function openBaseline(openDatabase: (url: string) => Query = openConnections): Baseline {
  // Without a listener the signal ends Node before it has written a profile.
  process.once('SIGTERM', () => process.exit(0));
  const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
  const operations = createOperations(openDatabase(config.databaseUrl ?? ''), config);
  return { config, logger: createLogger(config.logLevel), operations };
}

/** Opens single-connection clients of postgres.js, as Usher does. Each statement runs on the least busy one. */
function openConnections(url: string): Query {
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
