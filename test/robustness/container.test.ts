/** The image of the Dockerfile, run as compose.yaml does: not as root, on a root file system that is read-only. */
import { once } from 'node:events';
import { chown, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { ContainerImage } from '../support/container.ts';
import { createDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { ADMIN_KEY, PUBLIC_URL } from '../support/service.ts';
import { runSmokeTest } from '../support/smoke-test.ts';
import { quickOrLong } from '../support/soak.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { lacks } from '../support/tools.ts';

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
