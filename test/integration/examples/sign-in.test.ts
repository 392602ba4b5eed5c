import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { expectSignIn, startExample } from '../../support/example-application.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';
import { createTenant, startTestService } from '../../support/service.ts';
import { lacks, PYTHON_PATH } from '../../support/tools.ts';

const APP = join(REPOSITORY, 'test/examples/python/sign_in.py');

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
    await expectSignIn(app, service);
  } finally {
    app.close();
  }
});
