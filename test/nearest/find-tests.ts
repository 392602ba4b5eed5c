import { globSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { FAULTS } from '../mutants/faults/faults.ts';
import { readImports } from '../support/read-imports.ts';

/** The files that import each file. */
type Importers = ReadonlyMap<string, readonly string[]>;

/** Tests that take longer than anybody waits after each change, and those of examples, whose imports need Vite. */
const NEVER_NEAR = /^test\/(robustness|scale|histories|examples|database\/plans|delivery\/receiver-example)\b/;

/** Test files that try all operations. Few of their tests are near to one file. */
const CATALOGUES =
  /^test\/contract\/(admin-rights|authentication|lists|operations|repeated-(calls|names)|tenants|unknown-fields)\.test/;

/** Tests of parts with their connections and timers, which take longer than those of calls. */
const PARTS = /^test\/(database|delivery|http|jobs|mail|main|metrics|modules)\b/;

/** The test file that calls each operation, whose name is in the titles, as another application. */
const ISOLATION = 'test/contract/tenants.test.ts';
const OPERATIONS = new Set(
  globSync('proto/**/*.proto').flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/^ +rpc (\w+)/gm)].map(([, operation]) => operation),
  ),
);

/** A file may have dozens of importers. */
const MOST_OF_IMPORTERS = 3;

/** A test file with tests that are near to a changed file. */
export interface NearTest {
  readonly test: string;
  /** Regular expressions for the titles of its tests that run in any case. */
  readonly titles: readonly string[];
  /** False if no other test of the file is near. */
  readonly isWhole: boolean;
}

/**
 * Returns the test files that are near to the file, the nearest first: its own, that of the isolation of its operation,
 * those that notice its planted faults, those that import it, and those that notice the planted faults of its folder. If
 * there are none, returns those of its importers. Most tests load all of Usher, so imports alone would select them all.
 */
export function findNearestTests(file: string, importers: Importers): readonly NearTest[] {
  const seen = new Set([file]);
  for (let files = [file]; files.length > 0; ) {
    const found = combineTests(files.flatMap((each) => testsOf(each, importers)));
    if (found.length > 0) return found;
    files = files.flatMap((each) => importers.get(each) ?? []).filter((each) => !seen.has(each));
    for (const each of files) seen.add(each);
  }
  return [];
}

/** Returns one item for each test file, in the order of the first ones, which say whether it is whole. */
export function combineTests(tests: readonly NearTest[]): NearTest[] {
  return [...Map.groupBy(tests, ({ test }) => test)].map(([test, same]) => ({
    test,
    titles: same.flatMap(({ titles }) => titles),
    isWhole: same[0]?.isWhole ?? false,
  }));
}

function testsOf(file: string, importers: Importers): NearTest[] {
  const own = file.replace(/^src\//, 'test/').replace(/(?<!\.test)\.ts$/, '.test.ts');
  const importing = [file, ...(importers.get(file) ?? [])].filter((path) => path.endsWith('.test.ts'));
  const ofFile = findNoticing((path) => path === file);
  const ofImporters = findNoticing((path) => importers.get(file)?.includes(path) ?? false);
  const ofFolder = findNoticing((path) => path !== file && dirname(path) === dirname(file)).map(({ test }) => test);
  const ranked = [
    ...takeWhole(importing.filter((test) => test === own || test === file)),
    ...findIsolating(file),
    ...ofFile.map((near) => ({ ...near, isWhole: !CATALOGUES.test(near.test) })),
    ...takeWhole(importing),
    ...(ofFile.length > 0 ? [] : ofImporters.slice(0, MOST_OF_IMPORTERS)),
    ...takeWhole(ofFolder.filter((test) => !CATALOGUES.test(test)).sort((a, b) => +PARTS.test(a) - +PARTS.test(b))),
  ];
  return combineTests(ranked).filter(({ test }) => !NEVER_NEAR.test(test));
}

function takeWhole(tests: readonly string[]): NearTest[] {
  return tests.map((test) => ({ test, titles: [], isWhole: true }));
}

/** Returns the tests that call the operation of the file, if it has one, as another application. */
function findIsolating(file: string): NearTest[] {
  const operation = basename(file, '.ts').replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
  return OPERATIONS.has(operation) ? [{ test: ISOLATION, titles: [`\\b${operation}\\b`], isWhole: false }] : [];
}

/** Returns the tests that notice the planted faults of files. The first test file notices most of them. */
function findNoticing(isWanted: (file: string) => boolean): NearTest[] {
  const faults = FAULTS.filter(({ file }) => isWanted(file));
  return [...Map.groupBy(faults, ({ test }) => test)]
    .map(([test, same]) => ({ test, titles: same.map(({ title }) => title.source), isWhole: false }))
    .sort((a, b) => b.titles.length - a.titles.length);
}

/** Reads the imports of all files. */
export function readImporters(): Importers {
  const imports = globSync('{src,test}/**/*.ts', { exclude: ['**/node_modules'] }).flatMap((importer) =>
    readImports(importer).map((file) => ({ importer, file })),
  );
  return new Map(
    Object.entries(Object.groupBy(imports, ({ file }) => file)).map(([file, found = []]) => [
      file,
      found.map(({ importer }) => importer),
    ]),
  );
}
