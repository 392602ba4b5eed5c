import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { FAULTS } from '../mutants/faults/faults.ts';

/** The files that import each file. */
type Importers = ReadonlyMap<string, readonly string[]>;

/** Tests that take longer than anybody waits after each change. */
const SLOW = /^test\/(robustness|scale|histories|database\/plans)\b/;

/**
 * Returns the test files that are nearest to the file: those that notice its planted faults, then those that import it.
 * If there are none, returns those that are nearest to the files that import it. Most tests load all of Usher, so
 * imports alone would select them all.
 */
export function findNearestTests(file: string, importers: Importers): readonly string[] {
  const seen = new Set([file]);
  for (let files = [file]; files.length > 0; ) {
    const tests = new Set(files.flatMap((each) => testsOf(each, importers)));
    if (tests.size > 0) return [...tests];
    files = files.flatMap((each) => importers.get(each) ?? []).filter((each) => !seen.has(each));
    for (const each of files) seen.add(each);
  }
  return [];
}

function testsOf(file: string, importers: Importers): string[] {
  const noticing = FAULTS.filter((fault) => fault.file === file).map(({ test }) => test);
  return [file, ...noticing, ...(importers.get(file) ?? [])].filter(
    (path) => path.endsWith('.test.ts') && !SLOW.test(path),
  );
}

/** Reads the imports of all files. */
export function readImporters(): Importers {
  const imports = globSync('{src,test}/**/*.ts', { exclude: ['**/node_modules'] }).flatMap((importer) =>
    [...readFileSync(importer, 'utf8').matchAll(/(?:from|import) '(\.[^']+)'|import\('(\.[^']+)'\)/g)].map(
      ([, path, loaded]) => ({ importer, file: join(dirname(importer), path ?? loaded ?? '') }),
    ),
  );
  return new Map(
    Object.entries(Object.groupBy(imports, ({ file }) => file)).map(([file, found = []]) => [
      file,
      found.map(({ importer }) => importer),
    ]),
  );
}
