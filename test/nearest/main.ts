/**
 * Runs the tests nearest to the files that are named, or to those that differ from the last commit. It takes seconds,
 * and finds most mistakes, not all: `npm test` and the other tiers run the rest.
 */
import { execFileSync } from 'node:child_process';
import module from 'node:module';
import { join, resolve } from 'node:path';
import type { TestSpecification } from 'vitest/node';
import type { NearTest } from './find-tests.ts';

// The workers use it, too: Node loads what it has compiled before in half the time that Vitest takes to load it.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../../node_modules/.cache/usher');
module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
const { combineTests, findNearestTests, readImporters } = await import('./find-tests.ts');

/**
 * Tests begin until so many times as long after the start of this process as Vitest has taken to start: four seconds on a
 * quiet machine, and longer on a busy one.
 */
const PATIENCE = 9;
/** A mistake may make a test wait for what never comes. */
const LIMIT_MS = 60_000;
/** To load a test file takes time, although its tests are skipped. */
const MAX_FILES = 5;

const named = process.argv.slice(2);
const near = chooseTests(named.length > 0 ? named : listChanged());
process.stdout.write(`${near.map(({ test }) => `${test}\n`).join('')}${near.length} test files are near.`);
process.stdout.write(' Tests that would take longer are skipped. npm test and the other tiers run the rest.\n');
if (near.length > 0) await runTests(near);

/** Returns the nearest of each file, then the next of each file, and so on. */
function chooseTests(files: readonly string[]): readonly NearTest[] {
  const importers = readImporters();
  const ranked = files
    .flatMap((file) => findNearestTests(file, importers).map((near, rank) => ({ ...near, rank })))
    .sort((a, b) => a.rank - b.rank);
  return combineTests(ranked).filter(({ titles }, index) => titles.length > 0 || index < MAX_FILES);
}

async function runTests(near: readonly NearTest[]): Promise<void> {
  // As test/vitest.js does.
  if (!process.stdout.isTTY && !('FORCE_COLOR' in process.env)) process.env.NO_COLOR = '1';
  const { createVitest } = await import('vitest/node');
  const sequencer = class {
    sort = async (files: TestSpecification[]) => files;
    shard = this.sort;
  };
  const vitest = await createVitest({
    watch: false,
    experimental: { viteModuleRunner: false },
    setupFiles: ['test/nearest/skip-late-tests.ts'],
    sequence: { sequencer },
    testTimeout: LIMIT_MS,
    expect: { poll: { timeout: LIMIT_MS / 2 } },
  });
  await vitest.standalone();
  const project = vitest.getRootProject();
  const titles = Object.fromEntries(near.map(({ test, titles }) => [resolve(test), titles]));
  const endsAt = performance.timeOrigin + PATIENCE * performance.now();
  project.provide('nearest', { endsAt, titles });
  const specifications = near.map(({ test, titles, isWhole }) =>
    // Vitest puts > between the titles of a test and of what it is in.
    project.createSpecification(
      resolve(test),
      isWhole ? {} : { testNamePattern: new RegExp(titles.join('|').replaceAll(' ', '( | > )')) },
    ),
  );
  await vitest.runTestSpecifications(specifications);
  await vitest.close();
}

function listChanged(): string[] {
  const git = (...parameters: string[]) => execFileSync('git', parameters, { encoding: 'utf8' }).split('\n');
  const changed = [
    ...git('diff', '--name-only', '--diff-filter=d', 'HEAD', '--', 'src', 'test'),
    ...git('ls-files', '--others', '--exclude-standard', '--', 'src', 'test'),
  ];
  return changed.filter((file) => file.endsWith('.ts'));
}
