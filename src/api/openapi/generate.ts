/** Writes the OpenAPI documents. Run by `npm run generate`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { VERSION } from '../../config/version.ts';
import { createProcedures } from '../services.ts';
import { readComments } from './comments.ts';
import { describeConnect } from './connect-document.ts';
import { describeRest } from './rest-document.ts';

const info = { version: VERSION, license: { name: 'MIT', identifier: 'MIT' } };
const commentOf = readComments();
// No handler uses them: it refuses the empty request first, or fails without a database.
const parts = {
  apiKeys: {},
  cipher: {},
  liveSessions: {},
  pageTokens: {},
  tokens: { issuer: 'http://localhost' },
  authPageUrl: 'http://localhost',
  health: { handlers: { check: () => {}, list: () => {} } },
};
const procedures = createProcedures(parts as never);

mkdirSync('gen/openapi', { recursive: true });
write('rest', await describeRest(procedures, commentOf, info));
write('connect', await describeConnect(procedures, commentOf, info));

function write(name: string, document: unknown): void {
  writeFileSync(`gen/openapi/${name}.json`, `${JSON.stringify(document, null, 2)}\n`);
}
