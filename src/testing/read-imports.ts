import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the paths of ours that the file imports, types included. */
export function readImports(file: string): string[] {
  const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import) '(\.[^']+)'|import\('(\.[^']+)'\)/g);
  return [...imports].map(([, path, loaded]) => join(dirname(file), path ?? loaded ?? ''));
}
