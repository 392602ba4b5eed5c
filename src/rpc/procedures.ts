/** Every RPC with its implementation and its gate: what the Connect protocols and REST both call. */
import type { DescMethodUnary, DescService } from '@bufbuild/protobuf';
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
  readonly service: DescService;
  readonly gate: Gate;
  register(router: ConnectRouter): void;
  procedureOf(method: DescMethodUnary): Procedure | undefined;
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
  const { methods } = createServiceImplSpec(service, handlers);
  return {
    service,
    gate,
    register: (router) => router.service(service, handlers, { requestGate: gate, interceptors }),
    procedureOf(method) {
      const implementation = method.parent === service ? methods[method.localName] : undefined;
      return implementation?.kind === 'unary' ? { gate, implementation, interceptors } : undefined;
    },
  };
}
