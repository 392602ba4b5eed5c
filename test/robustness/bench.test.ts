/** The benchmark of calls: each server answers as expected, and one that does not fails the benchmark. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCalls } from '../bench/calls.ts';
import { createFixtures } from '../bench/fixtures.ts';
import { createDirectory } from '../support/directory.ts';
import { REPOSITORY, type Run } from '../support/process.ts';

const CALLS = createCalls(createFixtures()).map(({ name }) => name);

test('npm run bench has a figure of each call to each server', async () => {
  const { exitCode, stdout, stderr } = await bench(CALLS.flatMap((name) => ['--only', name]));
  expect(stderr).not.toContain('failed');
  expect(stdout).not.toContain('failed');
  for (const name of CALLS) expect(stdout).toContain(name);
  expect(exitCode).toBe(0);
}, 300_000);

test('npm run bench exits with 1 when one server answers one call otherwise than expected', async () => {
  const against = await createDirectory();
  await mkdir(join(against, 'src'));
  await writeFile(
    join(against, 'src/start.js'),
    `require('node:http').createServer((request, response) => response.end('{}')).listen(0, '127.0.0.1');`,
  );
  const rows = ['--protocol', 'REST', '--server', 'usher', '--server', 'against', '--against', against];
  const { exitCode, stdout } = await bench(['--only', 'GenerateAuthUrl', ...rows]);
  expect(stdout).toMatch(/^Usher, REST +\d+ +±/m);
  expect(stdout).toMatch(/^Usher in .+, REST +failed$/m);
  expect(exitCode).toBe(1);
}, 300_000);

function bench(options: readonly string[]): Promise<Run> {
  const few = ['--rounds', '1', '--requests', '6', '--warm-up', '1'];
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['src/run.js', 'test/bench/main.ts', ...few, ...options],
      { cwd: REPOSITORY },
      (_, stdout, stderr) => resolve({ exitCode: child.exitCode, stdout, stderr }),
    );
  });
}
