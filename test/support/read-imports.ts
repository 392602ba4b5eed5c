import { globSync } from 'node:fs';
import { readImports } from '../../src/testing/read-imports.ts';

/** Returns the files of src and test that import each file. */
export function readImporters(): ReadonlyMap<string, readonly string[]> {
  const imports = globSync('{src,test}/**/*.ts', { exclude: ['**/node_modules'] }).flatMap((importer) =>
    readImports(importer).map((file) => ({ importer, file })),
  );
  const importers = Map.groupBy(imports, ({ file }) => file);
  return new Map([...importers].map(([file, found]) => [file, found.map(({ importer }) => importer)]));
}
