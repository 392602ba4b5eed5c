/** A common choice: Fastify with Drizzle on postgres.js. */

import { createDrizzleStatements } from './drizzle-statements.ts';
import { serveFastify } from './serve-fastify.ts';

await serveFastify(createDrizzleStatements);
