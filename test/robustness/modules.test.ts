/** Each module can go: its folder and its lines in one list. What is left has its types, its lint, and its calls. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, inject, onTestFinished, test } from 'vitest';
import { copyCheckout } from '../support/copy-checkout.ts';
import { REPOSITORY } from '../support/process.ts';
import { readImporters } from '../support/read-imports.ts';
import { quickOrLong } from '../support/soak.ts';

const run = promisify(execFile);
const LIST = 'src/modules/modules.ts';
const MODULES = readdirSync(join(REPOSITORY, 'src/modules'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
/** What no type can need, since nothing imports it, goes alone in the long form only. */
const TAKEN_OUT = quickOrLong([MODULES], [...MODULES.map((module) => [module]), MODULES]);
const CALLS = quickOrLong('test/contract/check-in-rules', 'test/contract');

const IMPORTERS = readImporters();

const copy = await copyCheckout();
await writeFile(join(copy, 'src/tsconfig.json'), '{ "extends": "../tsconfig.json", "include": [".", "../gen"] }\n');
afterAll(() => rm(copy, { recursive: true }));

test.each(MODULES)('no file of src but the list of modules needs %s, and no test of a call does', (module) => {
  findFilesToTakeOut([module]);
});

test.each(TAKEN_OUT)(
  'Usher without %s has no error in its types and its code, and answers calls',
  { timeout: 900_000 },
  async (...modules) => {
    await takeOut(modules);
    // Without the tests: some set what only a module knows.
    // More checkers would read the types of packages more often. What the last check has seen is not checked again.
    const options = ['--checkers', '1', '--incremental', '--tsBuildInfoFile', 'types.tsbuildinfo'];
    await expect(runInCopy('tsc', '--project', 'src', ...options)).resolves.toBe('');
    await runInCopy('biome', 'check', '--diagnostic-level=error', quickOrLong(LIST, '.'));
    // What it keeps of the files of the copy goes with it.
    const cache = ['--fsModuleCachePath', '.vitest-cache'];
    expect(await runInCopy('vitest', 'run', '--mode', 'all', ...cache, CALLS)).toMatch(/Tests +\d+ passed/);
  },
);

/** Returns the folders of modules, and what else needs them. Expects that to be the list and their own tests. */
function findFilesToTakeOut(modules: readonly string[]): readonly string[] {
  const folders = modules.map((module) => `src/modules/${module}/`);
  const isOfThem = (path: string) => folders.some((folder) => path.startsWith(folder));
  const gone = filesThatNeed(isOfThem);
  expect(gone.filter((path) => path.startsWith('src/') && !isOfThem(path))).toEqual([LIST]);
  expect(gone.filter((path) => path.startsWith('test/contract/'))).toEqual([]);
  return [...folders, ...gone.filter((path) => !isOfThem(path))];
}

/** Removes the folders of modules, their lines in the list, and their own tests from the copy until the test has ended. */
async function takeOut(modules: readonly string[]): Promise<void> {
  const paths = findFilesToTakeOut(modules);
  for (const path of paths) await rm(join(copy, path), { recursive: true });
  onTestFinished(async () => {
    for (const path of paths) await cp(path, join(copy, path), { recursive: true });
  });
  let list = await readFile(LIST, 'utf8');
  for (const module of modules) {
    const [line = '', name = ''] = new RegExp(`^import \\{ (\\w+) \\} from '\\./${module}/.*\\n`, 'm').exec(list) ?? [];
    list = list.replace(line, '').replace(new RegExp(`${name},?\\s*`), '');
  }
  await writeFile(join(copy, LIST), list);
  await runInCopy('biome', 'format', '--write', LIST);
}

async function runInCopy(command: string, ...args: string[]): Promise<string> {
  // Its tests use the server of this run.
  const env = { ...process.env, NO_COLOR: '1', TEMPLATE_SERVER_URL: inject('postgresUrl') };
  const { stdout } = await run(join('node_modules/.bin', command), args, { cwd: copy, env }).catch((error) => {
    throw new Error(`${error.stdout}\n${error.stderr}`);
  });
  return stdout;
}

/** Returns the selected files, and those that import one of them, directly or not, up to the list of modules. */
function filesThatNeed(isSelected: (path: string) => boolean): string[] {
  const found = new Set([...IMPORTERS.keys()].filter(isSelected));
  for (const file of found) {
    if (file === LIST) continue;
    for (const importer of IMPORTERS.get(file) ?? []) found.add(importer);
  }
  return [...found];
}
