import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: [
    './src/database/schema/schema.ts',
    './src/database/schema/intent-schema.ts',
    './src/database/schema/api-key-schema.ts',
    './src/database/schema/group-schema.ts',
    './src/database/schema/event-schema.ts',
    './src/database/schema/login-schema.ts',
    './src/database/schema/invitation-schema.ts',
    './src/database/schema/notice-schema.ts',
    './src/database/schema/recovery-schema.ts',
    './src/database/schema/identity-schema.ts',
    './src/database/schema/passkey-schema.ts',
    './src/database/schema/second-factor-schema.ts',
    './src/database/schema/session-schema.ts',
    './src/database/schema/oidc-schema.ts',
    './src/database/schema/webhook-schema.ts',
    './src/database/schema/delivery-schema.ts',
    './src/database/schema/audit-schema.ts',
    './src/database/schema/operations-schema.ts',
  ],
  out: './drizzle',
});
