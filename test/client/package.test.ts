/** The package that applications install. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import clientManifest from '../../src/client/package.json' with { type: 'json' };
import { ClientProject } from '../support/client-project.ts';
import { expectLogin } from '../support/example-application.ts';
import { REPOSITORY, runShell } from '../support/process.ts';

let project: ClientProject;

beforeAll(async () => {
  project = await ClientProject.create();
});

afterAll(() => project[Symbol.asyncDispose]());

test('holds compiled JavaScript with types', async () => {
  const { stdout } = await runShell(`tar --list --file ${project.tarball}`);
  const files = stdout.trim().split('\n');
  for (const { default: path } of Object.values(clientManifest.exports)) expect(files).toContain(join('package', path));
  for (const file of files) expect(file).toMatch(/\.js$|\.d\.ts$|\/(package\.json|README\.md|LICENSE)$/);
});

test.each(['publint --strict', 'attw --profile esm-only'])('is clean by %s', async (command) => {
  const { exitCode, stdout, stderr } = await runShell(`${command} ${project.tarball}`);
  expect({ exitCode, output: exitCode === 0 ? '' : stdout + stderr }).toEqual({ exitCode: 0, output: '' });
});

test('has the version of Usher, and depends on what the tests run with', () => {
  const tested: Record<string, string> = { ...manifest.devDependencies, ...manifest.dependencies };
  expect(clientManifest.version).toBe(manifest.version);
  for (const [name, range] of Object.entries(clientManifest.dependencies)) {
    expect(range.replace('^', ''), name).toBe(tested[name]);
  }
});

test('signs users of an Express application in and out', async () => {
  await expectLogin(await project.compile(join(REPOSITORY, 'test/examples/express/app.ts')));
});
