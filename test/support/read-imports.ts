import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the paths of ours that the file imports, types included. */
export function readImports(file: string): string[] {
  const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import) '(\.[^']+)'|import\('(\.[^']+)'\)/g);
  return [...imports].map(([, path, loaded]) => join(dirname(file), path ?? loaded ?? ''));
}

/** Returns the files of src and test that import each file. */
export function readImporters(): ReadonlyMap<string, readonly string[]> {
  const imports = globSync('{src,test}/**/*.ts', { exclude: ['**/node_modules'] }).flatMap((importer) =>
    readImports(importer).map((file) => ({ importer, file })),
  );
  const importers = Map.groupBy(imports, ({ file }) => file);
  return new Map([...importers].map(([file, found]) => [file, found.map(({ importer }) => importer)]));
}
