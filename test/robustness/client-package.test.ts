/** The package that applications install: what is in it, and that it works under every Node that it supports. */

import { execFileSync } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import clientManifest from '../../src/client/package.json' with { type: 'json' };
import { toTypeScript } from '../../src/reference/docs/example-commands.ts';
import { CLIENT_SETUP, LIST_EXAMPLE } from '../../src/reference/docs/guides.ts';
import { createDirectory } from '../support/directory.ts';
import { expectLogin } from '../support/example-application.ts';
import { INSTALL_TIMEOUT_MS, installPackages, runOrThrow } from '../support/npm-registry.ts';
import { OPERATIONS } from '../support/operations.ts';
import { REPOSITORY, runShell } from '../support/process.ts';
import { variablesOf } from '../support/reference-examples.ts';
import { ADMIN_KEY, createTenant, startTestService } from '../support/service.ts';
import { quickOrLong } from '../support/soak.ts';
import { lacks } from '../support/tools.ts';

// The client package as applications get it: packed, and installed into a project of their own.

/** What the example needs, apart from the client package: of the repository. */
const DEVELOPMENT = ['@types/express', '@types/node', 'express', 'typescript'];

class ClientProject {
  readonly directory: string;
  readonly tarball: string;

  private constructor(directory: string, tarball: string) {
    this.directory = directory;
    this.tarball = tarball;
  }

  /** Without the registry, the client gets the packages that the repository has. */
  static async create({ usesRegistry = false } = {}): Promise<ClientProject> {
    const directory = await createDirectory();
    const tarball = await pack();
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    const project = new ClientProject(directory, tarball);
    await (usesRegistry ? installPackages(directory, [tarball]) : project.#unpack());
    await project.#link(DEVELOPMENT);
    return project;
  }

  /** Compiles a TypeScript application with strict settings. Returns the path of its JavaScript. */
  async compile(application: string): Promise<string> {
    await cp(application, join(this.directory, 'app.ts'));
    return this.#compile();
  }

  /** Compiles the text of an application likewise. */
  async compileText(text: string): Promise<string> {
    await writeFile(join(this.directory, 'app.ts'), text);
    return this.#compile();
  }

  async #compile(): Promise<string> {
    await runOrThrow(
      `cd ${this.directory} && node_modules/typescript/bin/tsc --strict --module nodenext --target es2022 --types node app.ts`,
    );
    return join(this.directory, 'app.js');
  }

  async #unpack(): Promise<void> {
    const modules = join(this.directory, 'node_modules');
    await mkdir(join(modules, 'usher-client'), { recursive: true });
    await runOrThrow(`tar -xf ${this.tarball} -C ${modules}/usher-client --strip-components 1`);
    await this.#link(Object.keys(clientManifest.dependencies));
  }

  async #link(packages: readonly string[]): Promise<void> {
    const modules = join(this.directory, 'node_modules');
    for (const name of packages) {
      await mkdir(dirname(join(modules, name)), { recursive: true });
      await symlink(join(REPOSITORY, 'node_modules', name), join(modules, name));
    }
  }
}

let packed: Promise<string> | undefined;

/** Returns the path of the package, which is packed once. */
function pack(): Promise<string> {
  packed ??= (async () => {
    const directory = join(await createDirectory(), 'new', 'packed');
    return join(directory, (await runOrThrow(`npm run client:pack --silent ${directory}`)).trim());
  })();
  return packed;
}

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
