/** The entry point. */
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { checkNodeVersion } from './node-version.js';

// Without a listener the signal opens Node's inspector, through which any local process could run code.
process.on('SIGUSR1', () => {});

if (checkNodeVersion()) {
  // Set before any TypeScript is loaded: for a file that the cache lacks, Node loads a compiler of 20 MB. Workers
  // inherit the variable. Whoever can write below `node_modules` can change the code anyway.
  process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/usher', import.meta.url));
  module.enableCompileCache();
  // Without a top-level await Node would exit with 0 if the start never settled.
  process.exitCode = 13;
  import('./cluster/import-fast.ts')
    .then(({ importFast }) => importFast(() => import('./main.ts')))
    .then(() => {
      process.exitCode = undefined;
    });
}
