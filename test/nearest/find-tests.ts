import { globSync } from 'node:fs';
import { FAULTS } from '../mutants/faults/faults.ts';
import { readImports } from '../support/read-imports.ts';

/** The files that import each file. */
type Importers = ReadonlyMap<string, readonly string[]>;

/** Tests that take longer than anybody waits after each change. */
const SLOW = /^test\/(robustness|scale|histories|database\/plans)\b/;

/** A test file, or those of its tests that notice the planted faults of a file. */
export interface NearTest {
  readonly test: string;
  /** Regular expressions. All tests are near if they are left out. */
  readonly titles?: readonly string[];
}

/**
 * Returns the tests that are nearest to the file: those that notice its planted faults, then the test files that import
 * it. If there are none, returns those that are nearest to the files that import it. Most tests load all of Usher, so
 * imports alone would select them all.
 */
export function findNearestTests(file: string, importers: Importers): readonly NearTest[] {
  const seen = new Set([file]);
  for (let files = [file]; files.length > 0; ) {
    const found = Map.groupBy(
      files.flatMap((each) => testsOf(each, importers)),
      ({ test }) => test,
    );
    if (found.size > 0) return [...found].map(([test, same]) => combine(test, same));
    files = files.flatMap((each) => importers.get(each) ?? []).filter((each) => !seen.has(each));
    for (const each of files) seen.add(each);
  }
  return [];
}

function combine(test: string, same: readonly NearTest[]): NearTest {
  const isWhole = same.some(({ titles }) => titles === undefined);
  return isWhole ? { test } : { test, titles: same.flatMap(({ titles = [] }) => titles) };
}

function testsOf(file: string, importers: Importers): NearTest[] {
  const noticing = FAULTS.filter((fault) => fault.file === file).map(({ test, title }) => ({
    test,
    titles: [title.source],
  }));
  const whole = [file, ...(importers.get(file) ?? [])].filter((path) => path.endsWith('.test.ts'));
  return [...noticing, ...whole.map((test) => ({ test }))].filter(({ test }) => !SLOW.test(test));
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
