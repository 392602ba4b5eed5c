/** What the clock of a test does not move is listed in the README of the package. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../../support/process.ts';

const SOURCE = join(REPOSITORY, 'src');
const REAL_TIME =
  /Date\.now\(\)|new Date\(\)|performance\.now\(\)|setTimeout\(|setInterval\(|AbortSignal\.timeout\(|\b(?:pause|sleep)\(/g;
/** Not the server: what runs in applications, for a command, or in tests. */
const OTHERS = /^(client|check|testing|main|generate|shutdown|progress|pause)(\/|\.ts$)/;

test('every reading of a real clock, and every timer, takes the clock or is on the list', () => {
  const found = globSync('**/*.ts', { cwd: SOURCE })
    .filter((path) => !OTHERS.test(path))
    .map((path) => [path, countRealTime(readFileSync(join(SOURCE, path), 'utf8'))] as const)
    .filter(([, count]) => count > 0);
  const listed = readFileSync(join(SOURCE, 'testing/README.md'), 'utf8').matchAll(/`([\w./-]+\.ts)` (\d+)/g);
  expect(Object.fromEntries(found)).toEqual(
    Object.fromEntries([...listed].map(([, path = '', count]) => [path, Number(count)])),
  );
});

function countRealTime(text: string): number {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  return code.match(REAL_TIME)?.length ?? 0;
}
