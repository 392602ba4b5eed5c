/** What a user would pick: Fastify with Drizzle on postgres.js. */
import { readFileSync } from 'node:fs';
import { readConfig } from '../../../src/config/config.ts';
import { createLogger } from '../../../src/log.ts';
import { createFastifyApp } from './create-fastify-app.ts';
import { createDrizzleStatements } from './drizzle-statements.ts';
import { createVerbs } from './verbs.ts';

const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
const statements = createDrizzleStatements(config.databaseUrl ?? '');
const app = createFastifyApp(createVerbs(statements, config), createLogger(config.logLevel));
await app.listen({ port: config.port, host: config.host });
