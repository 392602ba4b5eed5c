import { defineConfig } from 'vitest/config';

/** Folders of tests that `npm test` leaves out. `--mode` and the name of one runs it. A path that somebody names is run anyway. */
const TIERS = ['integration', 'plans', 'robustness', 'lab'];

export default defineConfig(({ mode }) => {
  const named = process.argv.filter((argument) => argument.startsWith('test/'));
  const isIn = (folder: string) => named.some((path) => path.startsWith(`test/${folder}`));
  const isSoak = mode === 'soak';
  const isOnCitus = mode === 'cluster' && Boolean(process.env.CITUS_URL);
  /** One test may take minutes, and reports what it has measured. */
  const isLong = isSoak || mode === 'histories' || mode === 'cluster';
  const folders: Readonly<Record<string, string>> = {
    integration: 'integration',
    robustness: 'robustness',
    soak: 'robustness',
    cluster: isOnCitus ? '' : 'lab/cluster',
    histories: 'lab/histories',
  };
  const folder = folders[mode];
  const isRobustness = folder === 'robustness' || isIn('robustness') || isIn('lab');
  const records = ['test', 'integration'].includes(mode) && !isRobustness && !isIn('plans');
  const others = isOnCitus ? ['robustness', 'lab/{bench,histories}'] : folder || named.length > 0 ? [] : TIERS;
  return {
    // Examples import the package as applications do.
    resolve: {
      alias: [
        { find: /^usher-client$/, replacement: `${import.meta.dirname}/src/client/usher-client.ts` },
        { find: /^usher-client\/(.*)$/, replacement: `${import.meta.dirname}/src/client/$1.ts` },
      ],
    },
    test: {
      include: [`test/${folder ? `${folder}/` : ''}**/*.test.ts`],
      exclude: ['**/node_modules/**', ...others.map((name) => `test/${name}/**`)],
      globalSetup: [...(isRobustness ? ['test/packages/install-packages.ts'] : []), 'test/support/postgres.ts'],
      setupFiles: ['test/support/end-of-file.ts', ...(records ? ['test/support/record-statements.ts'] : [])],
      provide: { isSoak },
      // Each worker loads and warms up the code anew, for some 12 s of CPU: it pays where tests wait more than they work.
      maxWorkers: mode === 'integration' ? 4 : mode === 'robustness' ? 3 : mode === 'cluster' && !isOnCitus ? 2 : 1,
      // Files share the code they load, and nothing else: each has a database and services of its own.
      isolate: isSoak,
      // They end what hangs, and say nothing of speed: the machine may be busy.
      testTimeout: isLong ? 900_000 : 300_000,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 240_000 } },
      reporters: [
        './test/support/skip-reporter.ts',
        isLong ? 'verbose' : 'default',
        './test/support/repeat-reporter.ts',
        ...(isLong ? ['./test/support/soak-reporter.ts'] : []),
      ],
      // Lines of single tests are for those that fail.
      slowTestThreshold: Number.POSITIVE_INFINITY,
      coverage: {
        include: ['src/**/*.ts'],
        // Programs of their own, whose output is tested.
        exclude: ['src/modules/reference/{generate.ts,openapi/**}', 'src/client/pack.ts'],
        reporter: ['text-summary', 'html'],
      },
    },
  };
});
