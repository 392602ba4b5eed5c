import { defineConfig } from 'vitest/config';

// The setup starts Postgres once, and stops it after the last file. The limit is for busy machines.
export default defineConfig({ test: { globalSetup: 'usher-testing/vitest', testTimeout: 20_000 } });
