import { defineConfig } from 'vitest/config';

// Starts Postgres once, and stops it after the last file.
export default defineConfig({ test: { globalSetup: 'usher-testing/vitest' } });
