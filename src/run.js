/** `node src/run.js <file> …` runs the file with the arguments, unless this Node is too old. `package.json` uses it. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkNodeVersion } from './node-version.js';

if (checkNodeVersion()) {
  // The file finds its arguments where it would find them if Node ran it directly.
  process.argv.splice(1, 1);
  process.argv[1] = resolve(process.argv[1] ?? '');
  await import(pathToFileURL(process.argv[1]).href);
}
