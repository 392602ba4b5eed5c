import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { type Config, readConfig } from '../../../src/config/config.ts';
import { createLogger } from '../../../src/log.ts';
import { createOperations, type Operations } from './operations.ts';
import type { Statements } from './statements.ts';

export interface Baseline {
  readonly config: Config;
  readonly logger: Logger;
  readonly operations: Operations;
}

/** Reads the settings of Usher, and opens everything a server needs between its protocol and the database. */
export function openBaseline(createStatements: (databaseUrl: string) => Statements): Baseline {
  const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
  const operations = createOperations(createStatements(config.databaseUrl ?? ''), config);
  return { config, logger: createLogger(config.logLevel), operations };
}
