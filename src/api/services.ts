/** All RPCs, with their handlers and credentials. */
import { Health } from '../../gen/health/v1/health_pb.ts';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { MessageService } from '../../gen/usher/v1/message_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { TokenService } from '../../gen/usher/v1/token_pb.ts';
import { UserService } from '../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { createAdminHandlers } from './handlers/admin-handlers.ts';
import { createAuthHandlers } from './handlers/auth-handlers.ts';
import { createEventHandlers } from './handlers/event-handlers.ts';
import { createMessageHandlers } from './handlers/message-handlers.ts';
import { createSessionHandlers } from './handlers/session-handlers.ts';
import { createTokenHandlers } from './handlers/token-handlers.ts';
import { createUserHandlers } from './handlers/user-handlers.ts';
import { createWebhookHandlers } from './handlers/webhook-handlers.ts';
import { createApplicationProcedures, createServiceProcedures, type Procedures, pathOf } from './procedures.ts';
import type { ServiceParts } from './service-parts.ts';

export function createProcedures(parts: ServiceParts): Procedures {
  const { health, pageTokens } = parts;
  const procedures = [
    ...createApplicationProcedures(AuthService, createAuthHandlers(parts)),
    ...createApplicationProcedures(SessionService, createSessionHandlers(parts)),
    ...createApplicationProcedures(UserService, createUserHandlers(parts)),
    ...createApplicationProcedures(WebhookService, createWebhookHandlers(parts)),
    ...createApplicationProcedures(EventService, createEventHandlers(pageTokens)),
    ...createApplicationProcedures(MessageService, createMessageHandlers(pageTokens)),
    ...createApplicationProcedures(TokenService, createTokenHandlers(parts)),
    ...createServiceProcedures(AdminService, createAdminHandlers(parts), 'adminKey'),
    ...createServiceProcedures(Health, health.handlers, 'none'),
  ];
  return new Map(procedures.map((procedure) => [pathOf(procedure.method), procedure]));
}
