import { defineConfig } from 'vitest/config';

/**
 * Tests of options (console, account page, OpenID Connect, providers, passkeys, wallets, invitations, pulled messages), of
 * parts with their connections, files and timers, and of long tables: `--mode integration` runs them, and `npm test`
 * leaves them out.
 */
const INTEGRATION = [
  ...['modules/console', 'modules/demo', 'modules/invitations', 'modules/messages', 'modules/oidc/pages'],
  ...['modules/remembered-sign-ins', 'modules/user-transfer'],
  ...['database', 'delivery', 'examples', 'histories/checker', 'http', 'jobs', 'mail', 'main', 'metrics'],
]
  .map((folder) => `test/${folder}/**/*.test.ts`)
  .concat(
    'test/client/follow-messages.test.ts',
    'test/modules/reference/openapi.test.ts',
    'test/contract/{audit-export,check-in-export,idempotency-keys,lists,repeated-calls,tenants}.test.ts',
    'test/login-page/{assurance,international-addresses,notices}.test.ts',
    'test/log.test.ts',
    'test/modules/{account,oidc}/*.test.ts',
    'test/modules/passkeys/{account-*,passkey,passkey-secrecy,passkeys-*,young-*}.test.ts',
    'test/modules/wallets/{account-,contract-,}wallet.test.ts',
    'test/modules/providers/{account-*,provider-{attacks,faults,freshness,lies},providers}.test.ts',
    'test/packages/install-packages.test.ts',
  );

/** The tests of faults and attacks: `--mode robustness` runs their short forms, `--mode soak` their long ones. */
const ROBUSTNESS_FOLDER = 'test/robustness';
const ROBUSTNESS = [`${ROBUSTNESS_FOLDER}/**/*.test.ts`];

/** Tests with standbys, poolers and distributed Postgres, which need more than npm installs: `--mode cluster`. */
const SCALE = ['test/scale/**/*.test.ts'];

/** Histories of calls under faults, which a checker judges: `--mode histories`. */
const HISTORIES = ['test/histories/*.test.ts'];

const inModules = (name: string) => `test/modules/${name}`;

/** What must be the same on Citus. */
const ON_CITUS = [
  ...['contract', 'delivery', 'domain', 'jobs', 'login-page', 'metrics'].map((name) => `test/${name}`),
  ...['account', 'groups', 'invitations', 'messages', 'oidc', 'passkeys', 'providers'].map(inModules),
  ...['remembered-sign-ins', 'user-transfer', 'wallets'].map(inModules),
].map((folder) => `${folder}/**/*.test.ts`);

export default defineConfig(({ mode }) => {
  const isSoak = mode === 'soak';
  const isHistories = mode === 'histories';
  const isOnCitus = mode === 'cluster' && Boolean(process.env.CITUS_URL);
  /** One test may take minutes, and reports what it has measured. */
  const doesReport = isSoak || isHistories || mode === 'cluster';
  // A path that somebody names is run, whatever its tier.
  const isNamed = process.argv.some((argument) => argument.startsWith('test/'));
  const tiers: Readonly<Record<string, string[]>> = {
    integration: INTEGRATION,
    robustness: ROBUSTNESS,
    soak: ROBUSTNESS,
    cluster: isOnCitus ? [...SCALE, ...ON_CITUS] : SCALE,
    histories: HISTORIES,
  };
  const needsPackages =
    isSoak || mode === 'robustness' || process.argv.some((argument) => argument.startsWith(ROBUSTNESS_FOLDER));
  const others = [...SCALE, ...HISTORIES, ...(isNamed ? [] : [...ROBUSTNESS, ...INTEGRATION])];
  return {
    // Examples import the package as applications do.
    resolve: {
      alias: [
        { find: /^usher-client$/, replacement: `${import.meta.dirname}/src/client/usher-client.ts` },
        { find: /^usher-client\/(.*)$/, replacement: `${import.meta.dirname}/src/client/$1.ts` },
      ],
    },
    test: {
      include: tiers[mode] ?? ['test/**/*.test.ts'],
      exclude: ['**/node_modules/**', ...(tiers[mode] ? [] : others)],
      globalSetup: [...(needsPackages ? ['test/packages/install-packages.ts'] : []), 'test/support/postgres.ts'],
      setupFiles: ['test/support/end-of-file.ts'],
      provide: { isSoak },
      // Each worker loads and warms up the code anew, for some 12 s of CPU: it pays where tests wait more than they work.
      maxWorkers: mode === 'integration' ? 4 : mode === 'robustness' ? 3 : mode === 'cluster' && !isOnCitus ? 2 : 1,
      // Files share the code they load, and nothing else: each has a database and services of its own.
      isolate: isSoak,
      // They end what hangs, and say nothing of speed: the machine may be busy.
      testTimeout: isSoak || isHistories ? 900_000 : 300_000,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 240_000 } },
      reporters: [
        './test/support/skip-reporter.ts',
        doesReport ? 'verbose' : 'default',
        './test/support/repeat-reporter.ts',
        ...(doesReport ? ['./test/support/soak-reporter.ts'] : []),
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
