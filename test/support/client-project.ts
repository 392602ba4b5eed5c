/** The client package as applications get it: packed, and installed into a project of their own. */
import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import clientManifest from '../../src/client/package.json' with { type: 'json' };
import { createDirectory } from './directory.ts';
import { REPOSITORY, runShell } from './process.ts';

/** An installation may take minutes on a busy machine, and some downloads hang until they are tried again. */
export const INSTALL_TIMEOUT_MS = 900_000;
/** What the example needs, apart from the client package: of the repository. */
const DEVELOPMENT = ['@types/express', '@types/node', 'express', 'typescript'];

export class ClientProject {
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

/** Installs packages from the registry, as the environment configures it. */
export async function installPackages(directory: string, packages: readonly string[]): Promise<void> {
  const patience = ['--prefer-offline', '--fetch-timeout', '30000', '--fetch-retries', '6'];
  const parameters = ['install', '--prefix', directory, '--no-audit', '--no-fund', ...patience, ...packages];
  await promisify(execFile)('npm', parameters, { timeout: INSTALL_TIMEOUT_MS });
}

async function runOrThrow(line: string): Promise<string> {
  const { exitCode, stdout, stderr } = await runShell(line);
  if (exitCode !== 0) throw new Error(`${line}: ${stdout}${stderr}`);
  return stdout;
}
