import { defineConfig } from 'vitest/config';

/** The tests of faults and attacks: `--mode robustness` runs their short forms, `--mode soak` their long ones. */
const ROBUSTNESS = 'test/robustness/**/*.test.ts';

/** Tests with standbys, poolers and distributed Postgres, which need more than npm installs: `--mode cluster`. */
const SCALE = 'test/scale/**/*.test.ts';

/** Histories of calls under faults, which a checker judges: `--mode histories`. */
const HISTORIES = 'test/histories/*.test.ts';

/** What must be the same on Citus. */
const ON_CITUS = ['contract', 'delivery', 'domain', 'jobs', 'login-page', 'metrics'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

export default defineConfig(({ mode }) => {
  const isSoak = mode === 'soak';
  const isCluster = mode === 'cluster';
  const isHistories = mode === 'histories';
  const cluster = process.env.CITUS_URL ? [SCALE, ...ON_CITUS] : [SCALE];
  const isRobustness = isSoak || mode === 'robustness';
  return {
    // Examples import the package as applications do.
    resolve: {
      alias: [
        { find: /^usher-client$/, replacement: `${import.meta.dirname}/src/client/usher-client.ts` },
        { find: /^usher-client\/(.*)$/, replacement: `${import.meta.dirname}/src/client/$1.ts` },
      ],
    },
    test: {
      include: isHistories ? [HISTORIES] : isCluster ? cluster : [isRobustness ? ROBUSTNESS : 'test/**/*.test.ts'],
      exclude: isHistories || isCluster || isRobustness ? [] : [ROBUSTNESS, SCALE, HISTORIES],
      globalSetup: 'test/support/postgres.ts',
      provide: { isSoak },
      // The tests wait more than they work: for locks, deadlines and processes.
      maxWorkers: isSoak || isHistories || (isCluster && process.env.CITUS_URL) ? 1 : isCluster ? 2 : 4,
      // Files share the code they load, and nothing else: each has a database and services of its own.
      isolate: isSoak,
      // They end what hangs, and say nothing of speed: the machine may be busy.
      testTimeout: isSoak || isHistories ? 900_000 : 120_000,
      hookTimeout: 120_000,
      expect: { poll: { timeout: 30_000 } },
      reporters: isSoak || isCluster || isHistories ? ['verbose', './test/support/soak-reporter.ts'] : ['dot'],
      coverage: {
        include: ['src/**/*.ts'],
        // Programs of their own, whose output is tested.
        exclude: ['src/api/openapi/**', 'src/client/pack.ts'],
        reporter: ['text-summary', 'html'],
      },
    },
  };
});
