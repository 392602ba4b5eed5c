/** What a user would pick: Fastify with `pg` and SQL by hand. */
import { readFileSync } from 'node:fs';
import { readConfig } from '../../../src/config/config.ts';
import { createLogger } from '../../../src/log.ts';
import { createFastifyApp } from './create-fastify-app.ts';
import { openPgPool } from './open-pg-pool.ts';
import { createSqlStatements } from './sql-statements.ts';
import { createVerbs } from './verbs.ts';

const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
const statements = createSqlStatements(openPgPool(config.databaseUrl ?? ''));
const app = createFastifyApp(createVerbs(statements, config), createLogger(config.logLevel));
await app.listen({ port: config.port, host: config.host });
