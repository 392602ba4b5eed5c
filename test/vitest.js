/** Starts Vitest, which would colour what it prints into a pipe. FORCE_COLOR has its usual meaning. */
if (!process.stdout.isTTY && !('FORCE_COLOR' in process.env)) process.env.NO_COLOR = '1';
await import('../node_modules/vitest/vitest.mjs');
