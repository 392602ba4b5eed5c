/** The readers of messages in the API reference. That in Go: test/lab/clients/go.test.ts. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { expectReader } from '../../support/expect-reader.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';
import { lacks, PYTHON_PATH } from '../../support/tools.ts';

test('a service in TypeScript reads messages, across restarts', async () => {
  const text = await readFile(join(REPOSITORY, 'test/examples/messages/read-messages.ts'), 'utf8');
  const program = text.replace("'usher-client'", `'${join(REPOSITORY, 'src/client/usher-client.ts')}'`);
  await expectReader([process.execPath, '--input-type=module-typescript', '--eval', program]);
});

test.skipIf(lacks('PYTHON_STUBS'))('a service in Python reads messages, across restarts', async () => {
  const stubs = await createDirectory();
  const plugin = '--plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)"';
  const written = await runShell(
    `protoc -I proto --python_out=${stubs} --grpc_out=${stubs} ${plugin} proto/usher/v1/message.proto`,
  );
  expect(written).toMatchObject({ exitCode: 0, stderr: '' });
  const env = { PYTHONPATH: stubs, PYTHONDONTWRITEBYTECODE: '1' };
  await expectReader([PYTHON_PATH, join(REPOSITORY, 'test/examples/messages/read_messages.py')], env);
});
