/** Run before what needs the packages of `test/package.json`. */
import { installPackages } from './install-packages.ts';

try {
  installPackages();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}
