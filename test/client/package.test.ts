/** The package that applications install. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import clientManifest from '../../src/client/package.json' with { type: 'json' };
import { runShell } from '../support/process.ts';

let directory: string;
let tarball: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'usher-package-'));
  const { stdout } = await runShell(`npm run client:pack --silent ${directory}`);
  tarball = join(directory, stdout.trim());
});

afterAll(() => rm(directory, { recursive: true }));

test('holds compiled JavaScript with types', async () => {
  const { stdout } = await runShell(`tar --list --file ${tarball}`);
  const files = stdout.trim().split('\n');
  expect(files).toContain('package/src/client/usher-client.js');
  for (const file of files) expect(file).toMatch(/\.js$|\.d\.ts$|\/(package\.json|README\.md|LICENSE)$/);
});

test.each(['publint --strict', 'attw --profile esm-only'])('is clean by %s', async (command) => {
  const { exitCode, stdout, stderr } = await runShell(`${command} ${tarball}`);
  expect({ exitCode, output: exitCode === 0 ? '' : stdout + stderr }).toEqual({ exitCode: 0, output: '' });
});

test('has the version of Usher, and depends on what the tests run with', () => {
  const tested: Record<string, string> = { ...manifest.devDependencies, ...manifest.dependencies };
  expect(clientManifest.version).toBe(manifest.version);
  for (const [name, range] of Object.entries(clientManifest.dependencies)) {
    expect(range.replace('^', ''), name).toBe(tested[name]);
  }
});
