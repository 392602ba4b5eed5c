/**
 * Runs the tests nearest to the files that are named, or to those that differ from the last commit. It takes seconds,
 * and finds most mistakes, not all: `npm test` and the other tiers run the rest.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { findNearestTests, readImporters } from './find-tests.ts';

/** Of each changed file, so that the run takes seconds. */
const MAX_TESTS = 3;

const named = process.argv.slice(2);
const files = named.length > 0 ? named : listChanged();
const importers = readImporters();
const tests = new Set<string>();
for (const file of files) {
  const nearest = findNearestTests(file, importers);
  const first = nearest.slice(0, MAX_TESTS);
  const more = nearest.length > first.length ? ` and ${nearest.length - first.length} more, which do not run` : '';
  process.stdout.write(`${file}: ${first.join(', ') || 'no test is near'}${more}\n`);
  for (const test of first) tests.add(test);
}
process.stdout.write(`${tests.size} test files are near. npm test and the other tiers run the rest.\n`);
if (tests.size > 0) {
  const { status } = spawnSync(process.execPath, ['test/vitest.js', 'run', ...tests], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

function listChanged(): string[] {
  const git = (...parameters: string[]) => execFileSync('git', parameters, { encoding: 'utf8' }).split('\n');
  const changed = [
    ...git('diff', '--name-only', '--diff-filter=d', 'HEAD', '--', 'src', 'test'),
    ...git('ls-files', '--others', '--exclude-standard', '--', 'src', 'test'),
  ];
  return changed.filter((file) => file.endsWith('.ts'));
}
