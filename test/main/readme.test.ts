import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { SERVICES } from '../../src/api/catalogue.ts';
import { OPERATIONS } from '../support/operations.ts';
import { REPOSITORY } from '../support/process.ts';

const readme = readPage('README.md');

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
  expect(toRead.split(/\s+/).length).toBeLessThanOrEqual(1_320);
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
