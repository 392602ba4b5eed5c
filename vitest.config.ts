import { defineConfig } from 'vitest/config';

/** Folders that `npm test` leaves out. `--mode` and the name of one runs it. A path that somebody names is run anyway. */
const TIERS = ['integration', 'plans', 'robustness', 'lab'];

export default defineConfig(({ mode }) => {
  const named = process.argv.filter((argument) => argument.startsWith('test/'));
  const isTier = TIERS.includes(mode) && named.length === 0;
  /** Long forms: one test may take minutes, and reports what it has measured. */
  const isSoak = mode === 'lab';
  const needsPackages = [mode, ...named].some((name) => /^(test\/)?(robustness|lab)/.test(name));
  const records = !needsPackages && !named.some((path) => path.startsWith('test/plans'));
  return {
    // Examples import the packages as applications do.
    resolve: {
      alias: [
        { find: /^usher-client$/, replacement: `${import.meta.dirname}/src/client/usher-client.ts` },
        { find: /^usher-client\/(.*)$/, replacement: `${import.meta.dirname}/src/client/$1.ts` },
        { find: /^usher-testing$/, replacement: `${import.meta.dirname}/src/testing/usher-testing.ts` },
      ],
    },
    test: {
      include: [`test/${isTier ? `${mode}/` : ''}**/*.test.ts`],
      exclude: [
        '**/node_modules/**',
        ...(isTier || named.length > 0 ? [] : TIERS.map((folder) => `test/${folder}/**`)),
      ],
      globalSetup: [...(needsPackages ? ['test/packages/install-packages.ts'] : []), 'test/support/postgres.ts'],
      setupFiles: ['test/support/end-of-file.ts', ...(records ? ['test/support/record-statements.ts'] : [])],
      provide: { isSoak },
      // Each worker loads and warms up the code anew, for some 12 s of CPU: it pays where tests wait more than they work.
      maxWorkers: mode === 'integration' ? 4 : mode === 'robustness' ? 3 : 1,
      // Files share the code they load, and nothing else: each has a database and services of its own.
      isolate: isSoak,
      // They end what hangs, and say nothing of speed: the machine may be busy.
      testTimeout: isSoak ? 900_000 : 300_000,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 240_000 } },
      reporters: [
        './test/support/skip-reporter.ts',
        isSoak ? 'verbose' : 'default',
        './test/support/repeat-reporter.ts',
        ...(isSoak ? ['./test/support/soak-reporter.ts'] : []),
      ],
      // Lines of single tests are for those that fail.
      slowTestThreshold: Number.POSITIVE_INFINITY,
      coverage: {
        include: ['src/**/*.ts'],
        // Programs of their own, whose output is tested.
        exclude: ['{src/generate.ts,src/reference/openapi/**}', 'src/client/pack.ts'],
        reporter: ['text-summary', 'html'],
        thresholds: isTier ? { lines: 88 } : {},
      },
    },
  };
});
