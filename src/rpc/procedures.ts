/** Every RPC with its implementation and its gate: what the Connect protocols and REST both call. */
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import {
  type ConnectRouter,
  createServiceImplSpec,
  type Interceptor,
  type MethodImplSpec,
  type ServiceImpl,
} from '@connectrpc/connect';
import type { Gate } from './gate.ts';

/** A service that is to be served. */
export interface Registration {
  /** Of its unary RPCs. */
  readonly procedures: readonly Procedure[];
  register(router: ConnectRouter): void;
}

/** A unary RPC, to be called in process. */
export interface Procedure {
  readonly gate: Gate;
  readonly implementation: MethodImplSpec & { kind: 'unary' };
  readonly interceptors: Interceptor[];
}

export function serveService<Service extends DescService>(
  service: Service,
  handlers: ServiceImpl<Service>,
  gate: Gate,
  interceptors: Interceptor[],
): Registration {
  const implementations = Object.values(createServiceImplSpec(service, handlers).methods);
  return {
    procedures: implementations.filter(isUnary).map((implementation) => ({ gate, implementation, interceptors })),
    register: (router) => router.service(service, handlers, { requestGate: gate, interceptors }),
  };
}

/** By path, such as `/usher.v1.WebhookService/GetWebhook`. */
export function proceduresOf(registrations: readonly Registration[]): Map<string, Procedure> {
  const procedures = registrations.flatMap((registration) => registration.procedures);
  return new Map(procedures.map((procedure) => [pathOf(procedure.implementation.method), procedure]));
}

export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function isUnary(spec: MethodImplSpec): spec is Procedure['implementation'] {
  return spec.kind === 'unary';
}
