import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createDirectory } from './directory.ts';
import { REPOSITORY } from './process.ts';

/** Runs `src/start.js <command> <given>` in a directory without `.env`, and with no other variables. */
export async function runCommand(command: string, env: Readonly<Record<string, string>>, ...given: string[]) {
  const child = spawn(process.execPath, [join(REPOSITORY, 'src/start.js'), command, ...given], {
    cwd: await createDirectory(),
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { exitCode: child.exitCode, stdout, stderr };
}
