/** Every operation of Usher: a unary RPC, the credential it takes, and its REST route if it has one. */
import type { DescMethodUnary, DescService } from '@bufbuild/protobuf';
import { ServerReflection } from '../../gen/grpc/reflection/v1/reflection_pb.ts';
import { Health } from '../../gen/health/v1/health_pb.ts';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { SessionService } from '../../gen/usher/v1/session_pb.ts';
import { UserService } from '../../gen/usher/v1/user_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { isUnary } from './procedures.ts';
import type { Route } from './rest/route.ts';
import { routes } from './rest/routes.ts';

/** `apiKey`: the key of an application, in `X-API-Key`. `adminKey`: the operator's key, in `X-Admin-Key`. */
export type Credential = 'apiKey' | 'adminKey';

export interface Operation {
  readonly method: DescMethodUnary;
  readonly credential: Credential;
  readonly route: Route | undefined;
}

/** Each service takes one credential. */
export const SERVICES: readonly { readonly service: DescService; readonly credential: Credential }[] = [
  { service: AuthService, credential: 'apiKey' },
  { service: SessionService, credential: 'apiKey' },
  { service: UserService, credential: 'apiKey' },
  { service: WebhookService, credential: 'apiKey' },
  { service: EventService, credential: 'apiKey' },
  { service: AdminService, credential: 'adminKey' },
];

/** Usher's own services and those of gRPC, as health checks and reflection list them. */
export const SERVED_SERVICES: readonly DescService[] = [
  ...SERVICES.map(({ service }) => service),
  Health,
  ServerReflection,
];

export const OPERATIONS: readonly Operation[] = SERVICES.flatMap(({ service, credential }) =>
  service.methods.filter(isUnary).map((method) => ({
    method,
    credential,
    route: routes.find(({ rpc }) => rpc === method),
  })),
);
