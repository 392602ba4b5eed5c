/** The client package, installed from the npm registry with what it declares, under every Node that it supports. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { ClientProject, INSTALL_TIMEOUT_MS, installPackages } from '../support/client-project.ts';
import { createDirectory } from '../support/directory.ts';
import { expectLogin } from '../support/example-application.ts';
import { REPOSITORY, runShell } from '../support/process.ts';

// Without a registry, CI fails; on a developer's machine these tests are skipped.
describe.skipIf(!hasRegistry() && !process.env.CI)('the installed client package', () => {
  let project: ClientProject;
  let application: string;

  beforeAll(async () => {
    project = await ClientProject.create({ usesRegistry: true });
    application = await project.compile(join(REPOSITORY, 'test/examples/express/app.ts'));
  }, INSTALL_TIMEOUT_MS);

  test.each(['publint --strict', 'attw --profile esm-only'])('is clean by %s', async (command) => {
    const { exitCode, stdout, stderr } = await runShell(`${command} ${project.tarball}`);
    expect({ exitCode, output: exitCode === 0 ? '' : stdout + stderr }).toEqual({ exitCode: 0, output: '' });
  });

  test.each([20, 22, 24])(
    'signs users of an Express application in and out on Node %i',
    { timeout: INSTALL_TIMEOUT_MS },
    async (version) => {
      const directory = await createDirectory();
      await installPackages(directory, [`node@${version}`]);
      const node = join(directory, 'node_modules/node/bin/node');
      expect(execFileSync(node, ['--version'], { encoding: 'utf8' })).toMatch(`v${version}.`);
      await expectLogin(application, node);
    },
  );
});

function hasRegistry(): boolean {
  try {
    execFileSync('npm', ['ping'], { stdio: 'ignore', timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
}
