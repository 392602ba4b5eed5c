import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { SERVICES } from '../../src/api/catalogue.ts';
import { cloneDatabase } from '../support/database.ts';
import { createDirectory } from '../support/directory.ts';
import { OPERATIONS } from '../support/operations.ts';
import { REPOSITORY, runShell } from '../support/process.ts';

const readme = readPage('README.md');

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

test('the README names every service, and where its REST routes are', () => {
  const [, table = ''] = readme.split('| Service of `usher.v1` | REST | What for |\n|---|---|---|\n');
  const rows = [...(/^(\|.*\n)*/.exec(table)?.[0] ?? '').matchAll(/^\| \[`(\w+)`\]\(.*?\) \|(?: `(.*?)`)? \|/gm)];
  const expected = SERVICES.map(({ service }) => {
    const routes = OPERATIONS.filter(({ method, route }) => method.parent === service && route);
    const [, parent] = /^(\/api\/\w+)/.exec(routes[0]?.route?.path ?? '') ?? [];
    return [service.name, parent];
  });
  expect(rows.map(([, name, parent]) => [name, parent])).toEqual(expected);
});

test('the README is short enough to be read, beside its table of settings', () => {
  const toRead = readme.replaceAll(/^\| `[A-Z_]+` \|.*\n/gm, '');
  expect(toRead.split(/\s+/).length).toBeLessThanOrEqual(1_280);
});

test('every link of a page leads to a file, and to a heading in it', () => {
  const folders = globSync('{.github,src,test}/**/*.md', { cwd: REPOSITORY, exclude: ['**/node_modules'] });
  const pages = ['README.md', 'CONTRIBUTING.md', ...folders];
  const links = pages.flatMap((page) =>
    [...readPage(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = '']) => ({ page, link })),
  );
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter(({ page, link }) => !leadsSomewhere(page, link))).toEqual([]);
});

test('every function and type that CONTRIBUTING.md links to is in its file', () => {
  const links = [...readPage('CONTRIBUTING.md').matchAll(/\[`(\w+)`\]\((\S+\.ts)\)/g)];
  expect(links.length).toBeGreaterThan(2);
  const isMissing = ([, name = '', path = '']: RegExpExecArray) =>
    !new RegExp(`export ((async )?function|interface) ${name}\\b`).test(readPage(path));
  expect(links.filter((link) => isMissing(link)).map(([link]) => link)).toEqual([]);
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

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', heading] = link.split('#');
  const target = path === '' ? page : join(dirname(page), path);
  if (heading === undefined || !existsSync(join(REPOSITORY, target))) return existsSync(join(REPOSITORY, target));
  const headings = [...readPage(target).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => title.toLowerCase());
  return headings.some((title) => title.replaceAll(' ', '-') === heading);
}

function readPage(path: string): string {
  return readFileSync(join(REPOSITORY, path), 'utf8');
}
