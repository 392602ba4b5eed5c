import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import type { ApiKeys } from '../../domain/api-keys/api-keys.ts';
import type { AuthTokens } from '../../domain/login/auth-tokens.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { LiveSessions } from '../../domain/sessions/live-sessions.ts';
import type { OpenHandlers } from '../procedures.ts';
import { createAdminUserHandlers } from './admin-user-handlers.ts';
import { createApiKeyHandlers } from './api-key-handlers.ts';
import { createApplicationHandlers } from './application-handlers.ts';
import { createAuditHandlers } from './audit-handlers.ts';
import { createLoginHandlers } from './login-handlers.ts';

export type AdminHandlers = OpenHandlers<typeof AdminService>;

export interface AdminParts {
  readonly apiKeys: ApiKeys;
  readonly liveSessions: LiveSessions;
  readonly pageTokens: PageTokens;
  readonly tokens: AuthTokens;
}

export function createAdminHandlers({ apiKeys, liveSessions, pageTokens, tokens }: AdminParts): AdminHandlers {
  return {
    ...createApplicationHandlers(apiKeys, pageTokens),
    ...createApiKeyHandlers(apiKeys, pageTokens),
    ...createLoginHandlers(tokens),
    ...createAdminUserHandlers(pageTokens, liveSessions),
    ...createAuditHandlers(pageTokens),
  };
}
