/** Example applications whose users sign in at Usher. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { expectSignIn, startExample } from '../../support/example-application.ts';
import { findFreePort } from '../../support/free-port.ts';
import { createRsaJwk } from '../../support/oidc.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';
import { createTenant, startTestService } from '../../support/service.ts';
import { lacks, PYTHON_PATH } from '../../support/tools.ts';

const EXAMPLES = join(REPOSITORY, 'test/examples');
const HONO = join(EXAMPLES, 'hono/app.ts');
const PYTHON = join(EXAMPLES, 'python/sign_in.py');

const port = await findFreePort();
const service = await startTestService({
  oidcSigningKeys: [createRsaJwk()],
  config: { port, publicUrl: `http://localhost:${port}` },
});
const tenant = await createTenant(service, { redirectUris: ['http://127.0.0.1/callback'], openIdConnect: true });
const env = { USHER_URL: `http://localhost:${port}`, CLIENT_ID: tenant.clientId, API_KEY: tenant.apiKey };
afterAll(() => service.close());

async function expectSignInTo(...started: Parameters<typeof startExample>): Promise<void> {
  const app = await startExample(...started);
  try {
    await expectSignIn(app, service);
  } finally {
    app.close();
  }
}

test.each([
  ['that of the README', HONO],
  ['one that uses OpenID Connect', join(EXAMPLES, 'openid-connect/app.ts')],
])('a user who signs in at Usher is signed in to the application: %s', (_, path) => expectSignInTo(path, env));

test.skipIf(lacks('PYTHON_STUBS'))('a Python service signs users in over gRPC', async () => {
  const stubs = await createDirectory();
  const [command = ''] = /protoc -I .*/.exec(await readFile(PYTHON, 'utf8')) ?? [];
  expect(await runShell(command.replaceAll('_out=.', `_out=${stubs}`))).toMatchObject({ exitCode: 0, stderr: '' });
  await expectSignInTo(PYTHON, { ...env, PYTHONPATH: stubs, PYTHONDONTWRITEBYTECODE: '1' }, PYTHON_PATH);
});

test('the README shows the application as it is', async () => {
  const readme = await readFile(join(REPOSITORY, 'README.md'), 'utf8');
  expect(readme.includes(`\`\`\`ts\n${await readFile(HONO, 'utf8')}\`\`\``)).toBe(true);
});
