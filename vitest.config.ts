import { defineConfig } from 'vitest/config';

export default defineConfig(({ mode }) => {
  const isSoak = mode === 'soak';
  return {
    test: {
      include: [isSoak ? 'test/robustness/**/*.test.ts' : 'test/**/*.test.ts'],
      globalSetup: 'test/support/postgres.ts',
      provide: { isSoak },
      // The tests wait more than they work: for locks, deadlines and processes.
      maxWorkers: isSoak ? 1 : 4,
      // Files share the code they load, and nothing else: each has a database and services of its own.
      isolate: isSoak,
      testTimeout: isSoak ? 900_000 : 30_000,
      hookTimeout: 30_000,
      expect: { poll: { timeout: 10_000 } },
      reporters: isSoak ? ['verbose', './test/support/soak-reporter.ts'] : ['default'],
      coverage: {
        include: ['src/**/*.ts'],
        reporter: ['text', 'html'],
        thresholds: { lines: 90 },
      },
    },
  };
});
