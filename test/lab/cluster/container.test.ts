/** The image of the Dockerfile, run as compose.yaml does: not as root, on a root file system that is read-only. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { TcpProxy } from '../../../src/testing/tcp-proxy.ts';
import { createDatabase } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { REPOSITORY } from '../../support/process.ts';
import { ADMIN_KEY, PUBLIC_URL } from '../../support/service.ts';
import { runSmokeTest } from '../../support/smoke-test.ts';
import { quickOrLong } from '../../support/soak.ts';
import { lacks } from '../../support/tools.ts';

const BUILD_TIMEOUT_MS = 600_000;
/** The user of the image. */
const USER = 65_532;

describe.skipIf(lacks('BUILDAH'))('the container image', () => {
  let image: ContainerImage;

  beforeAll(async () => {
    image = await ContainerImage.build({ usesRegistry: quickOrLong(false, true) });
  }, BUILD_TIMEOUT_MS);

  afterAll(() => image[Symbol.asyncDispose]());

  test('creates secrets, migrates, serves, is healthy, and stops', async () => {
    await using postgres = await TcpProxy.open(inject('postgresUrl'));
    await using database = await createDatabase('');
    const secrets = await createDirectory();
    await chown(secrets, USER, USER);
    const created = await image.run({ command: ['src/config/create-secrets.ts', '/secrets'], secrets });
    expect(created).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('/secrets/encryption-key: created\n'),
    });

    const env = {
      ADMIN_KEY,
      PUBLIC_URL,
      DATABASE_URL: postgres.through(database.url),
      AUTH_SIGNING_KEYS_FILE: '/secrets/auth-signing-keys.json',
      ENCRYPTION_KEY_FILE: '/secrets/encryption-key',
      HOST: '127.0.0.1',
      PORT: '0',
    };
    const migrated = await image.run({ command: ['src/start.js', 'migrate'], env, secrets });
    expect(migrated.exitCode, migrated.output).toBe(0);
    const container = image.start({ env: { ...env, MIGRATE_ON_START: 'false' }, secrets });
    try {
      const port = await container.port;
      await runSmokeTest({ url: `http://127.0.0.1:${port}` });
      expect(await readFile(`/proc/${container.process.pid}/status`, 'utf8')).toMatch(/^Uid:(\s+65532){4}$/m);

      const [, , ...command] = image.config.Healthcheck.Test;
      const check = () => image.run({ command, env: { ...env, PORT: port } });
      expect(await check()).toEqual({ exitCode: 0, output: '' });
      const exited = once(container.process, 'exit');
      container.process.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
      expect(await check()).toMatchObject({ exitCode: 1, output: expect.stringContaining('ECONNREFUSED') });
    } finally {
      container.process.kill('SIGKILL');
    }
  });

  test('cannot change its own files', async () => {
    const write = (path: string) => `try { fs.writeFileSync('${path}', '') } catch (error) { console.log(error.code) }`;
    const command = ['--eval', ['/x', '/app/x', '/cache/x'].map(write).join('\n')];
    expect(await image.run({ command })).toEqual({ exitCode: 0, output: 'EROFS\n'.repeat(3) });
  });

  test('compiles no TypeScript at a start', async () => {
    const { output } = await image.run({ env: { PORT: 'none', NODE_DEBUG_NATIVE: 'COMPILE_CACHE' } });
    // Threads write into each other's lines, but never within these words: Node writes them at once.
    expect(output.match(/retrieving transpile cache for \S+ \S+\.ts/g)?.length).toBeGreaterThan(20);
    expect(output.match(/saving transpilation cache for .*/g)).toBe(null);
    expect(output).toContain('usher: Invalid settings: PORT');
  });

  test('has a bill of materials with every package that is in it', async () => {
    const { components } = JSON.parse(await readFile(join(image.root, 'app/sbom.json'), 'utf8'));
    const installed = await packagesIn(join(image.root, 'app/node_modules'));
    // A version may be there several times, each within the package that needs it.
    const listed = components.map(({ purl }: { purl: string }) => decodeURIComponent(purl)).sort();
    expect(listed).toEqual([...new Set(installed)].sort());
    expect(installed.length).toBeGreaterThan(20);
  });
});

/** Returns the package URLs of what is installed below `node_modules`. */
async function packagesIn(directory: string): Promise<string[]> {
  const paths = await readdir(directory, { recursive: true });
  const manifest = /^(.*\/node_modules\/)?(@[^/]+\/)?[^/@.][^/]*\/package\.json$/;
  return Promise.all(
    paths
      .filter((path) => manifest.test(path))
      .map(async (path) => {
        const { name, version } = JSON.parse(await readFile(join(directory, path), 'utf8'));
        return `pkg:npm/${name}@${version}`;
      }),
  );
}

/** Builds the container image with buildah, and runs it as a container runtime would (Linux, as root). */
const run = promisify(execFile);

const RUNTIME_IMAGE = 'gcr.io/distroless/nodejs24-debian13:nonroot';
const NPM = '/usr/local/lib/node_modules/npm/bin/npm-cli.js';
/** Where a build without the registry finds the packages of the repository. */
const PACKAGES = '/packages';

const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const NODE = join(REPOSITORY, 'node_modules/node/bin/node');

/** Mounts the root file system read-only, and becomes the user of the image, for good. */
const RUN = `
root=$1 user=$2 directory=$3 volume=$4; shift 4
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --rbind /dev "$root/dev"
mount --bind /proc "$root/proc"
[ -z "$volume" ] || mount --bind "$volume" "$root/secrets"
exec setpriv --no-new-privs --clear-groups \\
  unshare --root="$root" --wd="$directory" --setgid "\${user#*:}" --setuid "\${user%:*}" "$@"`;

/** What the Dockerfile says, as a container runtime reads it. */
interface ImageConfig {
  readonly User: string;
  readonly WorkingDir: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Healthcheck: { readonly Test: readonly string[] };
}

interface ContainerOptions {
  /** Instead of the command of the image. */
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A directory to mount at `/secrets`. */
  readonly secrets?: string;
}

interface Container {
  readonly process: ChildProcess;
  /** The port that Usher listens on, when it does. Rejects with its output if it exits before. */
  readonly port: Promise<string>;
  readonly exit: Promise<{ exitCode: number | null; output: string }>;
}

class ContainerImage implements AsyncDisposable {
  readonly config: ImageConfig;
  /** Where its files are mounted. */
  readonly root: string;
  readonly #store: string;

  private constructor(store: string, root: string, config: ImageConfig) {
    this.#store = store;
    this.root = root;
    this.config = config;
  }

  /**
   * The images that the Dockerfile names cannot be pulled in a test, so others take their names. Without the registry,
   * `npm ci` copies the packages that the repository has.
   */
  static async build({ usesRegistry }: { usesRegistry: boolean }): Promise<ContainerImage> {
    const store = await createDirectory();
    await buildBase(store, { usesRegistry });
    const options = ['--isolation', 'chroot', '--pull-never', '--format', 'docker'];
    const packages = ['--volume', `${await realpath(join(REPOSITORY, 'node_modules'))}:${PACKAGES}:ro`];
    await buildah(store, 'build', ...options, ...(usesRegistry ? [] : packages), '--tag', 'usher', REPOSITORY);
    const root = await buildah(store, 'mount', await buildah(store, 'from', '--pull-never', 'usher'));
    for (const directory of ['dev', 'proc']) await mkdir(join(root, directory), { recursive: true });
    const { Docker } = JSON.parse(await buildah(store, 'inspect', '--type', 'image', 'usher'));
    return new ContainerImage(store, root, Docker.config);
  }

  /** Starts a container that shares the network of the machine. */
  start({ command = this.config.Cmd, env = {}, secrets = '' }: ContainerOptions = {}): Container {
    const { User, WorkingDir, Entrypoint, Env } = this.config;
    const own = Object.fromEntries(Env.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
    const parameters = [this.root, User, WorkingDir, secrets, ...Entrypoint, ...command];
    const child = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-ec', RUN, 'sh', ...parameters], {
      env: { ...own, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const { promise: port, resolve, reject } = Promise.withResolvers<string>();
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        const [, found] = /"url":"[^"]+:(\d+)".*"msg":"listening"/.exec(output) ?? [];
        if (found) resolve(found);
      });
    }
    const exit = once(child, 'close').then(() => ({ exitCode: child.exitCode, output }));
    exit.then(() => reject(new Error(output)));
    port.catch(() => {});
    return { process: child, port, exit };
  }

  /** Runs a container until it exits. */
  run(options: ContainerOptions): Container['exit'] {
    return this.start(options).exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await buildah(this.#store, 'umount', '--all');
    await run('umount', [join(this.#store, 'overlay')]).catch(() => {});
  }
}

/** Makes an image of Node and its libraries, of this machine, for both names: with npm and a shell to build, without to run. */
async function buildBase(store: string, { usesRegistry }: { usesRegistry: boolean }): Promise<void> {
  const libraries = join(store, 'libraries.tar');
  const paths = [...(await run('ldd', [NODE])).stdout.matchAll(/\/(\S+) \(0x/g)].map(([, path = '']) => path);
  await run('tar', ['--create', '--dereference', '--file', libraries, '--directory', '/', ...paths]);
  const { stdout: busybox } = await run('sh', ['-c', 'command -v busybox']);

  const runtime = await buildah(store, 'from', 'scratch');
  await buildah(store, 'add', runtime, libraries);
  await buildah(store, 'copy', runtime, busybox.trim(), '/bin/busybox');
  await buildah(store, 'copy', runtime, NODE, '/nodejs/bin/node');
  if (existsSync(CERTIFICATES)) await buildah(store, 'copy', runtime, CERTIFICATES, CERTIFICATES);
  await buildah(store, 'config', '--user', '65532', '--entrypoint', '["/nodejs/bin/node"]', runtime);
  await buildah(store, 'commit', runtime, RUNTIME_IMAGE);

  const container = await buildah(store, 'from', '--pull-never', RUNTIME_IMAGE);
  const { stdout } = await run('sh', ['-c', 'command -v npm']);
  const npm = dirname(dirname(await realpath(stdout.trim())));
  await buildah(store, 'copy', container, npm, '/usr/local/lib/node_modules/npm');
  const env = ['--env', 'PATH=/usr/local/bin:/usr/bin:/bin', '--env', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`];
  await buildah(store, 'config', '--user', '0', '--entrypoint', '[]', ...env, container);
  const links = `
    busybox ln -s busybox /bin/sh; busybox mkdir -p /usr/bin; for name in env ln mkdir rm; do busybox ln -s /bin/busybox /usr/bin/$name; done
    mkdir -p /usr/local/bin; ln -s /nodejs/bin/node /usr/local/bin/node
    ${usesRegistry ? `ln -s ${NPM} /usr/local/bin/npm` : ''}`;
  await buildah(store, 'run', '--isolation', 'chroot', container, '--', '/bin/busybox', 'sh', '-c', links);
  if (!usesRegistry) {
    const program = join(store, 'npm');
    await writeFile(program, await copyingNpm());
    await buildah(store, 'copy', '--chmod', '755', container, program, '/usr/local/bin/npm');
  }
  await buildah(store, 'commit', container, 'docker.io/library/node:24-slim');
}

/** Returns a script that is npm, but copies the packages for production instead of downloading them. */
async function copyingNpm(): Promise<string> {
  const { packages }: { packages: Record<string, { dev?: true; optional?: true; devOptional?: true }> } = JSON.parse(
    await readFile(join(REPOSITORY, 'package-lock.json'), 'utf8'),
  );
  const names = Object.entries(packages).flatMap(([path, { dev, optional, devOptional }]) => {
    const [, name = '', ...within] = path.split('node_modules/');
    return name === '' || within.length > 0 || dev || optional || devOptional ? [] : name;
  });
  return `#!/bin/sh
[ "$1" = ci ] || exec ${NPM} "$@"
mkdir node_modules && directory=$PWD && cd ${PACKAGES} && busybox cp -a --parents ${names.join(' ')} "$directory/node_modules"
`;
}

/** Returns what it prints. */
async function buildah(store: string, command: string, ...parameters: string[]): Promise<string> {
  const { stdout } = await run('buildah', ['--root', store, '--runroot', `${store}/run`, command, ...parameters], {
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout.trim();
}
