/** `npm run secrets <directory>`: creates the secrets of a production installation. */
import { completeSecrets } from './secrets.ts';

const [, , directory] = process.argv;
if (directory) await completeSecrets({}, directory);
else {
  process.stderr.write('usage: npm run secrets <directory>\n');
  process.exitCode = 1;
}
