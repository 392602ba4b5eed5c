/** The package that applications install: what is in it, and that it works under every Node that it supports. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import clientManifest from '../../src/client/package.json' with { type: 'json' };
import { toTypeScript } from '../../src/modules/reference/docs/example-commands.ts';
import { CLIENT_SETUP, LIST_EXAMPLE } from '../../src/modules/reference/docs/guides.ts';
import { ClientProject, INSTALL_TIMEOUT_MS, installPackages } from '../support/client-project.ts';
import { createDirectory } from '../support/directory.ts';
import { expectLogin } from '../support/example-application.ts';
import { OPERATIONS } from '../support/operations.ts';
import { REPOSITORY, runShell } from '../support/process.ts';
import { variablesOf } from '../support/reference-examples.ts';
import { ADMIN_KEY, createTenant, startTestService } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';
import { lacks } from '../support/tools.ts';

describe('the packed client package', () => {
  let project: ClientProject;

  beforeAll(async () => {
    project = await ClientProject.create();
  }, INSTALL_TIMEOUT_MS);

  test.each(['publint --strict', 'attw --profile esm-only'])('is clean by %s', async (command) => {
    const { exitCode, stdout, stderr } = await runShell(`${command} ${project.tarball}`);
    expect({ exitCode, output: exitCode === 0 ? '' : stdout + stderr }).toEqual({ exitCode: 0, output: '' });
  });

  test('holds compiled JavaScript with types', async () => {
    const { stdout } = await runShell(`tar --list --file ${project.tarball}`);
    const files = stdout.trim().split('\n');
    for (const { default: path } of Object.values(clientManifest.exports))
      expect(files).toContain(join('package', path));
    for (const file of files) expect(file).toMatch(/\.js$|\.d\.ts$|\/(package\.json|README\.md|LICENSE)$/);
  });

  test('has the version of Usher, and depends on what the tests run with', () => {
    const tested: Record<string, string> = { ...manifest.devDependencies, ...manifest.dependencies };
    expect(clientManifest.version).toBe(manifest.version);
    for (const [name, range] of Object.entries(clientManifest.dependencies)) {
      expect(range.replace('^', ''), name).toBe(tested[name]);
    }
  });

  test('makes every call of the API reference in TypeScript', async () => {
    await using service = await startTestService();
    const fixture = { service, tenant: await createTenant(service) };
    const examples = await Promise.all(
      OPERATIONS.map(async (operation) => {
        const example = toTypeScript(operation);
        const [imports = '', body = example] = example.startsWith('import') ? example.split('\n\n', 2) : ['', example];
        return { imports, body, env: await variablesOf(operation, example, fixture) };
      }),
    );
    const app = [
      ...new Set(examples.map(({ imports }) => imports)),
      CLIENT_SETUP,
      LIST_EXAMPLE,
      // Each has variables of its own.
      ...examples.map(({ body, env }) => `{\nObject.assign(env, ${JSON.stringify(env)});\n${body}\nvoid response;\n}`),
    ].join('\n');
    const script = await project.compileText(app);
    const env = { USHER_URL: service.url, API_KEY: fixture.tenant.apiKey, ADMIN_KEY };
    expect(await runShell(`node ${script}`, env)).toMatchObject({ exitCode: 0, stderr: '' });
  });
});

describe.skipIf(lacks('NPM_REGISTRY'))('the installed client package', () => {
  let application: string;

  beforeAll(async () => {
    // Its dependencies are those of the repository: see the test above of their versions.
    const project = await ClientProject.create({ usesRegistry: quickOrLong(false, true) });
    application = await project.compile(join(REPOSITORY, 'test/examples/express/app.ts'));
  }, INSTALL_TIMEOUT_MS);

  // The test above runs the package on 24, which the repository has, and the long form on each.
  test.each(quickOrLong([20], [20, 22, 24]))(
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
