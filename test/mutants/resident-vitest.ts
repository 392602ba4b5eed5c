/**
 * Runs test files for the process that has forked it, with one Vitest, which transforms each module once. Each run has a
 * new worker, so that none sees the modules or the state of another.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Writable } from 'node:stream';
import { createVitest, type TestCase } from 'vitest/node';

/** What to run. */
export interface Order {
  readonly file: string;
  /** The source of a regular expression for the titles, in which Vitest puts > between those of a test. */
  readonly titles: string;
  /** How long a test may take. That of the configuration if it is left out. */
  readonly limitMs: number | undefined;
  /** The files whose text is another one than in the last run. */
  readonly changed: readonly string[];
}

/** A test that has run. */
export interface RunTest {
  /** With the titles around it. */
  readonly title: string;
  readonly hasPassed: boolean;
  readonly durationMs: number;
}

const silent = new Writable({ write: (_text, _encoding, done) => done() });
const options = { watch: false, maxWorkers: 1, fsModuleCache: false, reporters: [{}] };
const vitest = await createVitest(options, {}, { stdout: silent, stderr: silent });
const project = vitest.getRootProject();
const { testTimeout } = project.config;
const everChanged = new Set<string>();

process.on('message', async ({ file, titles, limitMs = testTimeout, changed }: Order) => {
  for (const path of changed) {
    everChanged.add(resolve(path));
    vitest.invalidateFile(resolve(path));
  }
  // A file that cannot be loaded would have the results of its last run.
  vitest.state.filesMap.clear();
  project.config.testTimeout = limitMs;
  // What a test waits for in vain ends before the test does, and says what it was.
  project.config.expect = { ...project.config.expect, poll: { timeout: limitMs / 2 } };
  const specification = project.createSpecification(resolve(file), { testNamePattern: new RegExp(titles) });
  const { testModules } = await vitest.runTestSpecifications([specification]);
  const outdated = [...everChanged].find(isOutdated);
  if (outdated) throw new Error(`The tests have run with an old text of ${outdated}`);
  const tests = testModules.flatMap(({ children }) => [...children.allTests()]).filter(hasRun);
  process.send?.(tests.map(describeTest));
});
// It leads its process group: the workers and whatever the tests have started end, too.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
process.send?.('ready');

/** Returns whether Vitest would give workers another text of the file than it has. */
function isOutdated(path: string): boolean {
  const text = readFileSync(path, 'utf8');
  return Object.values(vitest.vite.environments)
    .flatMap(({ moduleGraph }) => [...(moduleGraph.getModulesByFile(path) ?? [])])
    .some(({ transformResult }) => {
      const map = transformResult?.map;
      return map && 'sourcesContent' in map && map.sourcesContent?.[0] !== text;
    });
}

function hasRun(test: TestCase): boolean {
  const { state } = test.result();
  return state === 'passed' || state === 'failed';
}

function describeTest(test: TestCase): RunTest {
  return {
    title: test.fullName.replaceAll(' > ', ' '),
    hasPassed: test.ok(),
    durationMs: test.diagnostic()?.duration ?? 0,
  };
}
