import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createDirectory } from './directory.ts';
import { REPOSITORY } from './process.ts';

/** Returns a directory for `PATH` in which `npx usher-testing` is that of the repository, so that no test installs it. */
export async function createNpx(): Promise<string> {
  const directory = await createDirectory();
  const path = join(directory, 'npx');
  const command = join(REPOSITORY, 'src/testing/command.ts');
  // The server gets a Postgres of its own, as outside of tests.
  await writeFile(path, `#!/bin/sh\nunset USHER_TESTING_RUN\nshift\nexec '${process.execPath}' '${command}' "$@"\n`);
  await chmod(path, 0o755);
  return directory;
}
