/** All services on one screen: what is served, by whose handlers, through which gate. */
import type { Logger } from 'pino';
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.ts';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import type { ApiKeys } from '../core/api-keys/api-keys.ts';
import type { AuthTokens } from '../core/auth/auth-tokens.ts';
import type { SigningKeyCipher } from '../core/webhooks/signing-key-cipher.ts';
import { createAdminHandlers } from './admin-handlers.ts';
import type { Admission } from './admission.ts';
import { createAuthHandlers } from './auth-handlers.ts';
import { type Register, registerOpenService, registerProcedures } from './connect-services.ts';
import { createEventHandlers } from './event-handlers.ts';
import { createAdminGate, createApplicationGate } from './gate.ts';
import { createHealthHandlers } from './health-handlers.ts';
import { createProcedures, indexProcedures, type Procedure } from './procedures.ts';
import { createReflectionHandlers } from './reflection-handlers.ts';
import { createWebhookHandlers } from './webhook-handlers.ts';

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
