/** The client package as applications get it: packed, and installed into a project of their own. */
import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import manifest from '../../package.json' with { type: 'json' };
import clientManifest from '../../src/client/package.json' with { type: 'json' };
import { createDirectory } from './directory.ts';
import { REPOSITORY, runShell } from './process.ts';

const devDependencies: Record<string, string> = manifest.devDependencies;
/** An installation may take minutes on a busy machine. */
export const INSTALL_TIMEOUT_MS = 300_000;
/** What the example needs. */
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
    const packed = join(directory, 'new', 'packed');
    const tarball = join(packed, (await runOrThrow(`npm run client:pack --silent ${packed}`)).trim());
    await writeFile(join(directory, 'package.json'), '{"type":"module"}');
    const project = new ClientProject(directory, tarball);
    await (usesRegistry ? project.#install() : project.#link());
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

  async #install(): Promise<void> {
    const packages = DEVELOPMENT.map((name) => `${name}@${devDependencies[name]}`);
    await installPackages(this.directory, [this.tarball, ...packages]);
  }

  async #link(): Promise<void> {
    const modules = join(this.directory, 'node_modules');
    await mkdir(join(modules, 'usher-client'), { recursive: true });
    await runOrThrow(`tar -xf ${this.tarball} -C ${modules}/usher-client --strip-components 1`);
    for (const name of [...DEVELOPMENT, ...Object.keys(clientManifest.dependencies)]) {
      await mkdir(dirname(join(modules, name)), { recursive: true });
      await symlink(join(REPOSITORY, 'node_modules', name), join(modules, name));
    }
  }
}

/** Installs packages from the registry, as the environment configures it. */
export async function installPackages(directory: string, packages: readonly string[]): Promise<void> {
  const parameters = ['install', '--prefix', directory, '--no-audit', '--no-fund', ...packages];
  await promisify(execFile)('npm', parameters, { timeout: INSTALL_TIMEOUT_MS });
}

async function runOrThrow(line: string): Promise<string> {
  const { exitCode, stdout, stderr } = await runShell(line);
  if (exitCode !== 0) throw new Error(`${line}: ${stdout}${stderr}`);
  return stdout;
}
