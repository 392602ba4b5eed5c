/** The entry point of Usher. It is JavaScript, so that an old Node can say that it is too old. */
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { checkNodeVersion } from './node-version.js';

// Without a listener the signal opens Node's inspector, through which any local process could run code.
process.on('SIGUSR1', () => {});

if (checkNodeVersion()) {
  // Enables the cache before any TypeScript is loaded: for a file that the cache lacks, Node loads a compiler of 20 MB.
  // The place is safe: whoever can write to `node_modules` can change the code anyway.
  const directory = fileURLToPath(new URL('../node_modules/.cache/usher', import.meta.url));
  module.enableCompileCache(process.env.NODE_COMPILE_CACHE || directory);
  // The exit code if the event loop ends before the start has settled, as Node sets it for a pending top-level await.
  process.exitCode = 13;
  import('./import-fast.ts')
    .then(({ importFast }) => importFast(() => import('./main.ts')))
    .then(() => {
      // A command may have set another.
      if (process.exitCode === 13) process.exitCode = undefined;
    });
}
