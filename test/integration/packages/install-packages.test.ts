import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';

const INSTALLS = /^Installing the packages/;
const WITHOUT_NPM = 'PATH=';

test('installs what the lock file names, and needs neither npm nor its registry when it is installed', async () => {
  const folder = await createDirectory();
  await pack(folder, '1.0.0');
  expect(await install(folder)).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(INSTALLS) });
  expect(await readVersion(folder)).toBe('1.0.0');
  expect(await install(folder, WITHOUT_NPM)).toEqual({ exitCode: 0, stdout: '', stderr: '' });

  // Another commit has another version.
  await pack(folder, '1.1.0');
  expect(await install(folder)).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(INSTALLS) });
  expect(await readVersion(folder)).toBe('1.1.0');

  await pack(folder, '1.2.0');
  for (const attempt of ['first', 'second']) {
    const { exitCode, stderr } = await install(folder, WITHOUT_NPM);
    expect({ attempt, exitCode, stderr }).toEqual({
      attempt,
      exitCode: 1,
      stderr: expect.stringContaining(`npm ci in ${folder} has failed`),
    });
  }
});

test('of two first installations at the same time, one installs', async () => {
  const folder = await createDirectory();
  await pack(folder, '1.0.0');
  const runs = await Promise.all([install(folder), install(folder)]);
  expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
  expect(runs.filter(({ stdout }) => INSTALLS.test(stdout))).toHaveLength(1);
});

/** Makes a project with one package of that version, in a file. */
async function pack(folder: string, version: string): Promise<void> {
  const tarball = `packed-${version}.tgz`;
  const dependencies = { packed: `file:${tarball}` };
  const packages = { '': { dependencies }, 'node_modules/packed': { version, resolved: `file:${tarball}` } };
  const files = {
    'package/package.json': { name: 'packed', version },
    'package.json': { dependencies },
    'package-lock.json': { lockfileVersion: 3, requires: true, packages },
  };
  await mkdir(join(folder, 'package'), { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), JSON.stringify(content));
  expect(await runShell(`tar -czf ${folder}/${tarball} -C ${folder} package`)).toMatchObject({ exitCode: 0 });
}

function install(folder: string, environment = '') {
  const module = join(REPOSITORY, 'test/packages/install-packages.ts');
  const script = `import { installPackages } from '${module}'; installPackages('${folder}')`;
  return runShell(`${environment} ${process.execPath} --input-type=module --eval "${script}"`);
}

async function readVersion(folder: string): Promise<string> {
  return JSON.parse(await readFile(join(folder, 'node_modules/packed/package.json'), 'utf8')).version;
}
