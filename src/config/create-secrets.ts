/** `npm run secrets <directory>`: creates the secrets of a production installation. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { completeSecrets, SECRET_FILES } from './secrets.ts';

const [, , directory, ...others] = process.argv;
try {
  if (!directory || others.length > 0) throw new Error('Usage: npm run secrets <directory>');
  await createSecrets(directory);
} catch (error) {
  process.stderr.write(`usher: ${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function createSecrets(directory: string): Promise<void> {
  const before: readonly string[] = await readdir(directory).catch(() => []);
  await completeSecrets({}, directory);
  for (const name of await readdir(directory)) {
    if (!SECRET_FILES.includes(name)) continue;
    const what = before.includes(name) ? 'kept, as it was there' : 'created';
    process.stdout.write(`${join(directory, name)}: ${what}\n`);
  }
  process.stdout.write('Only their owner can read them. Back them up, encryption-key above all.\n');
}
