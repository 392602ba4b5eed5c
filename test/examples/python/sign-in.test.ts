import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { ExampleBrowser, startExample } from '../../support/example-application.ts';
import { runShell } from '../../support/process.ts';
import { createTenant, createTestUser, startTestService } from '../../support/service.ts';
import { lacks, PYTHON_PATH } from '../../support/tools.ts';

const APP = join(import.meta.dirname, 'sign_in.py');
/** Debian's, which has the packages that `apt-get` installs. */

test.skipIf(lacks('PYTHON_STUBS'))('a Python service signs users in over gRPC', async () => {
  await using service = await startTestService({ config: { publicUrl: undefined } });
  const tenant = await createTenant(service, { redirectUris: ['http://127.0.0.1/callback'] });
  const stubs = await createDirectory();
  const [command = ''] = /protoc -I .*/.exec(await readFile(APP, 'utf8')) ?? [];
  expect(await runShell(command.replaceAll('_out=.', `_out=${stubs}`))).toMatchObject({ exitCode: 0, stderr: '' });
  const env = {
    USHER_URL: `http://localhost:${service.port}`,
    CLIENT_ID: tenant.clientId,
    API_KEY: tenant.apiKey,
    PYTHONPATH: stubs,
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const app = await startExample(APP, env, PYTHON_PATH);
  try {
    const browser = new ExampleBrowser();
    const user = await createTestUser(service);
    expect(await browser.read(app.url)).toContain('Sign in');
    const callback = await browser.signIn(app.url, service, user);
    expect((await new ExampleBrowser().open(callback)).status).toBe(400);
    expect((await browser.open(callback)).headers.get('location')).toBe('/');
    expect(await browser.read(app.url)).toBe(`Signed in as ${user.email}`);
  } finally {
    app.close();
  }
});
