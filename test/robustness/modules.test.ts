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

test.each([...MODULES.map((module) => [module]), MODULES])(
  'Usher without %s has no error in its types and its code, and answers calls',
  { timeout: 900_000 },
  async (...modules) => {
    await using copy = await copyWithout(modules);
    await expect(copy.run('tsc', '--project', quickOrLong('src', '.'))).resolves.toBe('');
    await copy.run('biome', 'check', '--diagnostic-level=error', quickOrLong(LIST, '.'));
    // The short form runs a copy without all modules only: most of its time goes to the start.
    if (quickOrLong(modules.length === MODULES.length, true)) {
      expect(await copy.run('vitest', 'run', '--mode', 'all', CALLS)).toMatch(/Tests +\d+ passed/);
    }
  },
);

/** Copies the checkout without the folders of modules, their lines in the list, and their own tests. */
async function copyWithout(modules: readonly string[]) {
  const directory = await mkdtemp(join(tmpdir(), 'usher-without-'));
  const folders = modules.map((module) => `src/modules/${module}/`);
  const isOfThem = (path: string) => folders.some((folder) => path.startsWith(folder));
  const gone = filesThatNeed(isOfThem);
  expect(gone.filter((path) => path.startsWith('src/') && !isOfThem(path))).toEqual([LIST]);
  expect(gone.filter((path) => path.startsWith('test/contract/'))).toEqual([]);
  const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  for (const file of stdout.split('\0').filter((name) => (name !== '' && !gone.includes(name)) || name === LIST)) {
    if (!isOfThem(file)) await cp(file, join(directory, file));
  }
  let list = await readFile(LIST, 'utf8');
  for (const module of modules) {
    const [line = '', name = ''] = new RegExp(`^import \\{ (\\w+) \\} from '\\./${module}/.*\\n`, 'm').exec(list) ?? [];
    list = list.replace(line, '').replace(new RegExp(`${name},?\\s*`), '');
  }
  await writeFile(join(directory, LIST), list);
  await writeFile(
    join(directory, 'src/tsconfig.json'),
    '{ "extends": "../tsconfig.json", "include": [".", "../gen"] }',
  );
  for (const packages of ['node_modules', 'test/node_modules'].filter((path) => existsSync(path))) {
    await symlink(join(REPOSITORY, packages), join(directory, packages));
  }
  const copy = {
    async run(command: string, ...args: string[]): Promise<string> {
      const env = { ...process.env, NO_COLOR: '1' };
      const { stdout } = await run(join('node_modules/.bin', command), args, { cwd: directory, env }).catch((error) => {
        throw new Error(`${error.stdout}\n${error.stderr}`);
      });
      return stdout;
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
  await copy.run('biome', 'format', '--write', LIST);
  return copy;
}

/** Returns the selected files, and those that import one of them, directly or not, up to the list of modules. */
function filesThatNeed(isSelected: (path: string) => boolean): string[] {
  const importers = readImporters();
  const found = new Set([...importers.keys()].filter(isSelected));
  for (const file of found) {
    if (file === LIST) continue;
    for (const importer of importers.get(file) ?? []) found.add(importer);
  }
  return [...found];
}
