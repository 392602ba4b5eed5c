/** `npm run secrets <directory>`: creates the secrets of a production installation. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { completeSecrets, SECRET_FILES } from './secrets.ts';

const [, , directory] = process.argv;
if (directory) {
  const before: readonly string[] = await readdir(directory).catch(() => []);
  await completeSecrets({}, directory);
  for (const name of await readdir(directory)) {
    if (!SECRET_FILES.includes(name)) continue;
    const what = before.includes(name) ? 'kept, as it was there' : 'created';
    process.stdout.write(`${join(directory, name)}: ${what}\n`);
  }
  process.stdout.write('Only their owner can read them. Back them up, encryption-key above all.\n');
} else {
  process.stderr.write('usage: npm run secrets <directory>\n');
  process.exitCode = 1;
}
