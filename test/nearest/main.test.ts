import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { FAULTS } from '../mutants/faults/faults.ts';
import { copyCheckout } from '../support/copy-checkout.ts';

test('a fault in a file fails its nearest tests', async () => {
  const copy = await copyCheckout();
  const fault = FAULTS.find(({ test: path }) => path === 'test/domain/core/validation.test.ts');
  const { file, find, replace } = fault ?? expect.fail('no such fault');
  const env = { ...process.env, NO_COLOR: '1', TEMPLATE_SERVER_URL: inject('postgresUrl') };
  const path = join(copy, file);
  await writeFile(
    path,
    (await readFile(path, 'utf8')).replace(find, () => replace),
  );
  const parameters = ['src/run.js', 'test/nearest/main.ts', file];
  expect(spawnSync(process.execPath, parameters, { cwd: copy, env, encoding: 'utf8' })).toMatchObject({
    status: 1,
    stdout: expect.stringContaining('npm test -- test/domain/core/validation'),
  });
});

test('Node, which loads the nearest tests without Vite, can read all tests', () => {
  const files = globSync('test/**/*.ts', { exclude: ['**/node_modules'] });
  const read = (file: string) => stripTypeScriptTypes(readFileSync(file, 'utf8'));
  for (const file of files) expect(() => read(file), file).not.toThrow();
});
