import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: [
    './src/database/schema.ts',
    './src/database/intent-schema.ts',
    './src/database/api-key-schema.ts',
    './src/database/group-schema.ts',
    './src/database/event-schema.ts',
    './src/database/login-schema.ts',
    './src/database/invitation-schema.ts',
    './src/database/notice-schema.ts',
    './src/database/identity-schema.ts',
    './src/database/passkey-schema.ts',
    './src/database/session-schema.ts',
    './src/database/oidc-schema.ts',
    './src/database/webhook-schema.ts',
    './src/database/delivery-schema.ts',
    './src/database/audit-schema.ts',
    './src/database/operations-schema.ts',
  ],
  out: './drizzle',
});
