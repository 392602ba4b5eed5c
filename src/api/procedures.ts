/** Unary RPCs as they are implemented, apart from the protocols they are called over. */
import type {
  DescMessage,
  DescMethod,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { RpcCall } from './call.ts';
import type { Gate } from './gate.ts';

/** A request's fields. Nothing is known of their types: those of REST are whatever JSON the caller sent. */
export type Fields<Input extends DescMessage> = { readonly [Name in keyof MessageShape<Input>]?: unknown };

export type Handler<Input extends DescMessage = DescMessage, Output extends DescMessage = DescMessage> = (
  request: Fields<Input>,
  call: RpcCall,
) => Promise<MessageInitShape<Output>>;

/** A handler for every RPC of the service. */
export type Handlers<Service extends DescService> = {
  readonly [Name in keyof Service['method']]: Service['method'][Name] extends DescMethodUnary<infer Input, infer Output>
    ? Handler<Input, Output>
    : never;
};

export interface Procedure {
  readonly method: DescMethodUnary;
  readonly gate: Gate;
  readonly handler: Handler;
}

export function createProcedures<Service extends DescService>(
  service: Service,
  handlers: Handlers<Service>,
  gate: Gate,
): Procedure[] {
  const byName: Readonly<Record<string, Handler>> = handlers;
  return service.methods.map((method) => {
    const handler = byName[method.localName];
    if (!isUnary(method) || !handler) throw new Error(`${method.name} is not a unary RPC with a handler`);
    return { method, gate, handler };
  });
}

/** By path. */
export function indexProcedures(procedures: readonly Procedure[]): Map<string, Procedure> {
  return new Map(procedures.map((procedure) => [pathOf(procedure.method), procedure]));
}

function isUnary(method: DescMethod): method is DescMethod & DescMethodUnary {
  return method.methodKind === 'unary';
}

/** Such as `/usher.v1.WebhookService/GetWebhook`. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}
