/** Each module can go: its folder and its lines in one list. What is left has its types, its lint, and its calls. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { readImporters } from '../nearest/find-tests.ts';
import { REPOSITORY } from '../support/process.ts';
import { quickOrLong } from '../support/soak.ts';

const run = promisify(execFile);
const LIST = 'src/modules/modules.ts';
const MODULES = readdirSync(join(REPOSITORY, 'src/modules'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const CALLS = quickOrLong('test/contract/check-in', 'test/contract');

test.each(MODULES)(
  'Usher without the module %s has no error in its types and its code, and answers calls',
  {
    timeout: 900_000,
  },
  async (module) => {
    await using copy = await copyWithout(module);
    await expect(copy.run('node_modules/.bin/tsc')).resolves.toBe('');
    await copy.run('node_modules/.bin/biome', 'check', '--diagnostic-level=error', 'src');
    expect(await copy.run('node_modules/.bin/vitest', 'run', '--mode', 'all', CALLS)).toMatch(/Tests +\d+ passed/);
  },
);

/** Copies the checkout without the folder of a module, without its lines in the list, and without its own tests. */
async function copyWithout(module: string) {
  const directory = await mkdtemp(join(tmpdir(), 'usher-without-'));
  const gone = filesThatNeed(`src/modules/${module}/`);
  expect(gone.filter((path) => path.startsWith('src/') && !path.startsWith(`src/modules/${module}/`))).toEqual([LIST]);
  expect(gone.filter((path) => path.startsWith('test/contract/'))).toEqual([]);
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  for (const file of stdout.split('\0').filter((name) => (name !== '' && !gone.includes(name)) || name === LIST)) {
    if (!file.startsWith(`src/modules/${module}/`)) await cp(file, join(directory, file));
  }
  const list = await readFile(LIST, 'utf8');
  const [line = '', identifier = ''] =
    new RegExp(`^import \\{ (\\w+) \\} from '\\./${module}/.*\\n`, 'm').exec(list) ?? [];
  await writeFile(join(directory, LIST), list.replace(line, '').replace(new RegExp(`${identifier},?\\s*`), ''));
  for (const modules of ['node_modules', 'test/node_modules'].filter((path) => existsSync(path))) {
    await symlink(join(REPOSITORY, modules), join(directory, modules));
  }
  const copy = {
    async run(command: string, ...args: string[]): Promise<string> {
      const env = { ...process.env, NO_COLOR: '1' };
      const { stdout } = await run(command, args, { cwd: directory, env }).catch((error) => {
        throw new Error(`${error.stdout}\n${error.stderr}`);
      });
      return stdout;
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
  await copy.run('node_modules/.bin/biome', 'format', '--write', LIST);
  return copy;
}

/** Returns the files of the folder, and those that import one of them, directly or not, up to the list of modules. */
function filesThatNeed(folder: string): string[] {
  const importers = readImporters();
  const found = new Set([...importers.keys()].filter((path) => path.startsWith(folder)));
  for (const file of found) {
    if (file === LIST) continue;
    for (const importer of importers.get(file) ?? []) found.add(importer);
  }
  return [...found];
}
