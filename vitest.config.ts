import { defineConfig } from 'vitest/config';

/** The tests of faults and attacks: `--mode robustness` runs their short forms, `--mode soak` their long ones. */
const ROBUSTNESS = 'test/robustness/**/*.test.ts';

export default defineConfig(({ mode }) => {
  const isSoak = mode === 'soak';
  const isRobustness = isSoak || mode === 'robustness';
  return {
    test: {
      include: [isRobustness ? ROBUSTNESS : 'test/**/*.test.ts'],
      exclude: isRobustness ? [] : [ROBUSTNESS],
      globalSetup: 'test/support/postgres.ts',
      provide: { isSoak },
      // The tests wait more than they work: for locks, deadlines and processes.
      maxWorkers: isSoak ? 1 : 4,
      // Files share the code they load, and nothing else: each has a database and services of its own.
      isolate: isSoak,
      testTimeout: isSoak ? 900_000 : 30_000,
      hookTimeout: 30_000,
      expect: { poll: { timeout: 10_000 } },
      reporters: isSoak ? ['verbose', './test/support/soak-reporter.ts'] : ['dot'],
      coverage: { include: ['src/**/*.ts'], reporter: ['text-summary', 'html'] },
    },
  };
});
