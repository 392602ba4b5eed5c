/** The program in the API reference that checks sessions in memory. That in Go: test/lab/clients/go.test.ts. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { expectSessionReader } from '../../support/expect-session-reader.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';
import { lacks, PYTHON_PATH } from '../../support/tools.ts';

test.skipIf(lacks('PYTHON_STUBS'))('a service in Python checks sessions in memory', async () => {
  const stubs = await createDirectory();
  const plugin = '--plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)"';
  const written = await runShell(
    `protoc -I proto --python_out=${stubs} --grpc_out=${stubs} ${plugin} proto/usher/v1/{auth,session}.proto`,
  );
  expect(written).toMatchObject({ exitCode: 0, stderr: '' });
  const env = { PYTHONPATH: stubs, PYTHONDONTWRITEBYTECODE: '1' };
  await expectSessionReader([PYTHON_PATH, join(REPOSITORY, 'test/examples/sessions/check_sessions.py')], env);
});
