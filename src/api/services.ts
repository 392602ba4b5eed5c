/** All services on one screen: what is served, by whose handlers, through which gate. */
import type { Logger } from 'pino';
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.ts';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import type { ApiKeys } from '../domain/api-keys/api-keys.ts';
import type { AuthTokens } from '../domain/login/auth-tokens.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';
import type { Admission } from './admission.ts';
import { createAdminGate, createApplicationGate } from './gate.ts';
import { createAdminHandlers } from './handlers/admin-handlers.ts';
import { createAuthHandlers } from './handlers/auth-handlers.ts';
import { createEventHandlers } from './handlers/event-handlers.ts';
import { createWebhookHandlers } from './handlers/webhook-handlers.ts';
import { createHealthHandlers } from './operations/health.ts';
import { createProcedures, indexProcedures, type Procedure } from './procedures.ts';
import { type Register, registerOpenService, registerProcedures } from './rpc/connect-services.ts';
import { createReflectionHandlers } from './rpc/reflection.ts';

export interface ServiceParts {
  readonly adminKey: string;
  readonly admission: Admission;
  readonly apiKeys: ApiKeys;
  readonly authPageUrl: string;
  readonly cipher: SigningKeyCipher;
  /** Aborted when the service begins to close. */
  readonly drain: AbortSignal;
  readonly isReady: () => Promise<boolean>;
  readonly logger: Logger;
  readonly tokens: AuthTokens;
}

export interface Services {
  /** Those of our RPCs that are not streams, by path. */
  readonly procedures: ReadonlyMap<string, Procedure>;
  /** For Connect: those, health and reflection. */
  readonly register: Register;
}

export function createServices({
  adminKey,
  admission,
  apiKeys,
  authPageUrl,
  cipher,
  drain,
  isReady,
  logger,
  tokens,
}: ServiceParts): Services {
  const applications = createApplicationGate(apiKeys);
  const admins = createAdminGate(adminKey);
  const ofApplications = [
    ...createProcedures(AuthService, createAuthHandlers(tokens, authPageUrl), applications),
    ...createProcedures(WebhookService, createWebhookHandlers(cipher), applications),
    ...createProcedures(EventService, createEventHandlers(), applications),
  ];
  const ofAdmins = createProcedures(AdminService, createAdminHandlers(tokens, apiKeys), admins);
  const procedures = [...ofApplications.map((procedure) => admission.limit(procedure)), ...ofAdmins];

  const described = [AuthService, WebhookService, EventService, AdminService, Health, ServerReflection];
  const names = described.map((service) => service.typeName);
  const registrations = [
    registerProcedures(procedures, logger),
    registerOpenService(Health, createHealthHandlers(names, isReady, drain), logger),
    registerOpenService(ServerReflection, createReflectionHandlers(described, [file_google_rpc_error_details]), logger),
  ];
  return {
    procedures: indexProcedures(procedures),
    register: (router) => {
      for (const register of registrations) register(router);
    },
  };
}
