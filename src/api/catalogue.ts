/** Every operation of Usher: a unary RPC, the credential it takes, and its REST route if it has one. */
import type { DescMethod, DescMethodUnary, DescService } from '@bufbuild/protobuf';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionAlpha } from '../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { MessageService } from '../../gen/usher/v1/message_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { TokenService } from '../../gen/usher/v1/token_pb.ts';
import { UserService } from '../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { isUnary } from './procedures.ts';
import type { Route } from './rest/routes.ts';
import { routes } from './rest/routes.ts';

export const CREDENTIAL_HEADERS = { apiKey: 'X-API-Key', adminKey: 'X-Admin-Key' } as const;

export interface Operation {
  readonly method: DescMethodUnary;
  readonly credential: keyof typeof CREDENTIAL_HEADERS;
  readonly route: Route | undefined;
}

export const SERVICES = [
  defineService(AuthService, 'apiKey'),
  defineService(SessionService, 'apiKey'),
  defineService(UserService, 'apiKey'),
  defineService(WebhookService, 'apiKey'),
  defineService(EventService, 'apiKey'),
  defineService(TokenService, 'apiKey'),
  defineService(MessageService, 'apiKey'),
  defineService(AdminService, 'adminKey'),
];

export const OPERATIONS: readonly Operation[] = SERVICES.flatMap(({ operations }) => operations);

/** All services that health checks and reflection list: Usher's own, and those of gRPC. */
export const SERVED_SERVICES: readonly DescService[] = [
  ...SERVICES.map(({ service }) => service),
  Health,
  ServerReflection,
  ServerReflectionAlpha,
];

/** Returns the URL fragment of an RPC in `/docs`. */
export function anchorOf(method: DescMethod): string {
  return `${method.parent.name}.${method.name}`;
}

function defineService(service: DescService, credential: Operation['credential']) {
  const operations = service.methods
    .filter(isUnary)
    .map((method): Operation => ({ method, credential, route: routes.find(({ rpc }) => rpc === method) }));
  return { service, header: CREDENTIAL_HEADERS[credential], operations };
}
