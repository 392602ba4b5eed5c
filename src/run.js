/** `node src/run.js <file> …`: runs a script of `package.json`, unless this Node is too old for it. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkNodeVersion } from './node-version.js';

if (checkNodeVersion()) {
  // The script finds its arguments where it would find them without this file.
  process.argv.splice(1, 1);
  process.argv[1] = resolve(process.argv[1] ?? '');
  await import(pathToFileURL(process.argv[1]).href);
}
