/** What the README tells operators to run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { cloneDatabase } from '../../support/database.ts';
import { createDirectory } from '../../support/directory.ts';
import { REPOSITORY, runShell } from '../../support/process.ts';

const readme = readFileSync(join(REPOSITORY, 'README.md'), 'utf8');

test('the commands of the README install a production service that only their user can read', async () => {
  const directory = await createDirectory();
  await using database = await cloneDatabase();
  const install = findCommands('npm run secrets')
    .replace(/^npm ci .*\n/, '')
    .replaceAll('/etc/usher', directory)
    .replace(/^DATABASE_URL=.*$/m, `DATABASE_URL='${database.url}'`)
    .replace('HOST=0.0.0.0', 'HOST=127.0.0.1');
  // The processes of the shell are a group, which is ended as one.
  const shell = spawn('bash', ['-c', install], {
    cwd: REPOSITORY,
    env: { PATH: `${join(REPOSITORY, 'node_modules/.bin')}:${process.env.PATH}`, HOME: directory, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const exited = once(shell, 'exit');
  try {
    const url = await findUrl(createInterface({ input: shell.stdout }));
    const register = findCommands('CreateApplication').replaceAll('.data', directory);
    const { stdout } = await runShell(register.replaceAll('http://localhost:8080', url));
    expect(JSON.parse(stdout)).toMatchObject({ application: { name: 'Shop' }, apiKey: expect.stringMatching(/^usk_/) });
    for (const name of [
      'admin-key',
      'admin-header',
      'auth-signing-keys.json',
      'oidc-signing-keys.json',
      'encryption-key',
      'env',
    ]) {
      expect(await readdir(directory)).toContain(name);
      expect((await stat(join(directory, name))).mode & 0o077, name).toBe(0);
    }
  } finally {
    process.kill(-(shell.pid ?? 0), 'SIGTERM');
    await exited;
  }
});

/** Returns the block of shell commands that has the text. */
function findCommands(text: string): string {
  const blocks = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  return blocks.find((block) => block.includes(text)) ?? '';
}

async function findUrl(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const { msg, url } = line.startsWith('{') ? JSON.parse(line) : {};
    if (msg === 'listening') return url;
  }
  throw new Error('Usher has not started');
}
