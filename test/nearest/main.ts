/**
 * Runs the tests nearest to the files that are named, or to those that differ from the last commit. It takes seconds,
 * and finds most mistakes, not all: `npm test` and the other tiers run the rest.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { findNearestTests, type NearTest, readImporters } from './find-tests.ts';

/** Of each changed file, so that the run takes seconds. */
const MAX_TESTS = 3;

const named = process.argv.slice(2);
const files = named.length > 0 ? named : listChanged();
const importers = readImporters();
const near: NearTest[] = [];
for (const file of files) {
  const nearest = findNearestTests(file, importers);
  // Vitest selects by title in all files or in none, and the others of a file that only notices faults take long.
  const direct = nearest.filter(({ titles }) => titles === undefined);
  const first = (direct.length > 0 ? direct : nearest).slice(0, MAX_TESTS);
  const more = nearest.length > first.length ? ` and ${nearest.length - first.length} more, which do not run` : '';
  process.stdout.write(`${file}: ${first.map(describe).join(', ') || 'no test is near'}${more}\n`);
  near.push(...first);
}
const tests = new Set(near.map(({ test }) => test));
process.stdout.write(`${tests.size} test files are near. npm test and the other tiers run the rest.\n`);
if (tests.size > 0) {
  const parameters = ['test/vitest.js', 'run', ...tests, ...selectTitles(near)];
  const { status } = spawnSync(process.execPath, parameters, { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

function describe({ test, titles }: NearTest): string {
  return titles ? `${test} (those that notice its planted faults)` : test;
}

/** Returns the option of Vitest that selects tests by title, unless all tests of a file are near. */
function selectTitles(near: readonly NearTest[]): string[] {
  if (near.some(({ titles }) => titles === undefined)) return [];
  // Vitest puts > between the titles of a test and of what it is in.
  const titles = near.flatMap(({ titles = [] }) => titles).map((title) => title.replaceAll(' ', '( | > )'));
  return ['-t', titles.join('|')];
}

function listChanged(): string[] {
  const git = (...parameters: string[]) => execFileSync('git', parameters, { encoding: 'utf8' }).split('\n');
  const changed = [
    ...git('diff', '--name-only', '--diff-filter=d', 'HEAD', '--', 'src', 'test'),
    ...git('ls-files', '--others', '--exclude-standard', '--', 'src', 'test'),
  ];
  return changed.filter((file) => file.endsWith('.ts'));
}
