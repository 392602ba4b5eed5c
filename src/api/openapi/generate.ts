import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { VERSION } from '../../config/version.ts';
import type { Procedures } from '../procedures.ts';
import { readComments } from './comments.ts';
import { describeConnect } from './connect-document.ts';
import { describeRest } from './rest-document.ts';

const info = { version: VERSION, license: { name: 'MIT', identifier: 'MIT' } };
const commentOf = readComments();

const QUICK_STARTS = [
  ['Express', 'server', 'express/app.ts'],
  ['Hono', 'server', 'hono/app.ts'],
  ['Next.js', 'server', 'next/sessions.ts'],
  ['Python over gRPC', 'server', 'python/sign_in.py'],
  ['Go over gRPC', 'server', 'go-grpc/main.go'],
  ['Single-page app', 'single-page', 'single-page/index.html'],
  ['Login page of your own', 'own-page', 'login-page/app.ts'],
  ['Go with OpenID Connect', 'product', 'go-oidc/main.go'],
];
const READERS = [
  ['TypeScript', 'read-messages.ts'],
  ['Python', 'read_messages.py'],
  ['Go', 'main.go'],
];

/** Writes the OpenAPI documents, and the examples of the API reference. */
export async function writeReference(procedures: Procedures): Promise<void> {
  mkdirSync('gen/openapi', { recursive: true });
  writeJson('openapi/rest', await describeRest(procedures, commentOf, info));
  writeJson('openapi/connect', await describeConnect(procedures, commentOf, info));
  const quickStarts = QUICK_STARTS.map(([title, kind, path]) => ({
    title,
    kind,
    text: readFileSync(`test/examples/${path}`, 'utf8'),
  }));
  writeJson('quick-starts', quickStarts);

  const readers = READERS.map(([title, file]) => ({
    title,
    text: readFileSync(`test/examples/messages/${file}`, 'utf8'),
  }));
  writeJson('message-readers', readers);
  writeJson('mcp-server', [{ text: readFileSync('test/examples/mcp/server.ts', 'utf8') }]);
}

function writeJson(name: string, document: unknown): void {
  writeFileSync(`gen/${name}.json`, `${JSON.stringify(document, null, 2)}\n`);
}
