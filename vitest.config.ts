import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/postgres.ts',
    // The tests wait more than they work: for locks, deadlines and processes.
    maxWorkers: 3,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    coverage: {
      include: ['src/**/*.ts'],
      reporter: ['text', 'html'],
      thresholds: { lines: 90 },
    },
  },
});
