import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { OPERATIONS } from '../../api/catalogue.ts';
import type { Procedures } from '../../api/procedures.ts';
import { VERSION } from '../../config/version.ts';
import { CREATIONS, MESSAGE_READER_FILES, QUICK_START_FILES } from './example-files.ts';
import { readComments } from './openapi/comments.ts';
import { describeConnect } from './openapi/connect-document.ts';
import { describeRest } from './openapi/rest-document.ts';

const info = { version: VERSION, license: { name: 'MIT', identifier: 'MIT' } };
const commentOf = readComments();

/** Writes the OpenAPI documents, and the examples of the API reference and the console. */
export async function writeReference(procedures: Procedures): Promise<void> {
  mkdirSync('gen/openapi', { recursive: true });
  writeJson('openapi/rest', await describeRest(procedures, commentOf, info));
  writeJson('openapi/connect', await describeConnect(procedures, commentOf, info));

  const examples = JSON.parse(readFileSync('proto/examples.json', 'utf8'));
  for (const { method } of OPERATIONS) {
    const name = `${method.parent.name}/${method.name}`;
    if (!examples.operations[name]) throw new Error(`add an example of ${name} to proto/examples.json`);
  }
  writeJson('examples', examples);
  writeJson(
    'quick-starts',
    QUICK_START_FILES.map(({ title, kind, file, setup }) => {
      return { title, kind, creation: CREATIONS[kind] ?? '', setup, text: readExample(file) };
    }),
  );
  writeJson(
    'message-readers',
    MESSAGE_READER_FILES.map(({ title, file, setup }) => ({ title, setup, text: readExample(file) })),
  );
  writeJson('mcp-server', { text: readExample('mcp/server.ts') });
}

function readExample(file: string): string {
  return readFileSync(`test/examples/${file}`, 'utf8');
}

function writeJson(name: string, document: unknown): void {
  writeFileSync(`gen/${name}.json`, `${JSON.stringify(document, null, 2)}\n`);
}
