/** Who may use the packages of `test/package.json`: `npm ci` does not install them. */
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FAULTS } from '../mutants/faults/faults.ts';
import testManifest from '../package.json' with { type: 'json' };
import { readImporters } from '../support/read-imports.ts';

const users = findUsers(Object.keys(testManifest.dependencies));

test('npm test, the integration tier and planted faults do without', () => {
  expect(users.filter((file) => file.endsWith('.test.ts') && !/^test\/(robustness|lab)\//.test(file))).toEqual([]);
  expect(FAULTS.filter((fault) => users.includes(fault.test)).map(({ test }) => test)).toEqual([]);
});

/** Returns the files that import one of the packages, and the files that import these. */
function findUsers(packages: readonly string[]): readonly string[] {
  const importers = readImporters();
  const imports = new RegExp(`(from|import\\() ?'(${packages.join('|')})['/]`);
  const found = new Set(
    globSync('test/**/*.{ts,js}', { exclude: ['**/node_modules'] }).filter((file) =>
      imports.test(readFileSync(file, 'utf8')),
    ),
  );
  for (const file of found) for (const importer of importers.get(file) ?? []) found.add(importer);
  return [...found];
}
