/** Example applications whose users sign in at Usher. */
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { expectSignIn, startExample } from '../../support/example-application.ts';
import { findFreePort } from '../../support/free-port.ts';
import { createNpx } from '../../support/npx.ts';
import { createRsaJwk } from '../../support/oidc.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';
import { createTenant, startTestService } from '../../support/service.ts';
import { lacks, PYTHON_PATH } from '../../support/tools.ts';

const EXAMPLES = join(REPOSITORY, 'test/examples');
const HONO = join(EXAMPLES, 'hono/app.ts');

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

test('a user who signs in at Usher by OpenID Connect is signed in to the application', () =>
  expectSignInTo(join(EXAMPLES, 'openid-connect/app.ts'), env));

test.skipIf(lacks('PYTHON_STUBS'))('a Python service signs users in over gRPC, as its tests say', async () => {
  const directory = await createDirectory();
  for (const name of ['sign_in.py', 'test_sign_in.py']) await cp(join(EXAMPLES, 'python', name), join(directory, name));
  const [command = ''] = /protoc -I .*/.exec(await readFile(join(directory, 'sign_in.py'), 'utf8')) ?? [];
  expect(await runShell(command.replaceAll('_out=.', `_out=${directory}`))).toMatchObject({ exitCode: 0, stderr: '' });
  const npx = await createNpx();
  const tests = `cd ${directory} && PATH=${npx}:$PATH PYTHONDONTWRITEBYTECODE=1 ${PYTHON_PATH} -m unittest`;
  expect(await runShell(tests)).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Ran 3 tests') });
});

test('the README shows the application as it is', async () => {
  const readme = await readFile(join(REPOSITORY, 'README.md'), 'utf8');
  expect(readme.includes(`\`\`\`ts\n${await readFile(HONO, 'utf8')}\`\`\``)).toBe(true);
});
