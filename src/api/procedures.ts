/** The RPCs of Usher with their handlers, independent of the protocol. */
import type {
  DescMessage,
  DescMethod,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import type { Call, TransactionalCall } from '../domain/core/call.ts';
import { type ErrorReason, ServiceError } from '../domain/core/errors.ts';
import { OWN_APPLICATION_IDS } from '../domain/core/own-applications.ts';
import type { Peer } from '../domain/sessions/session.ts';
import type { Fields } from './call-info.ts';
import { isFieldMask, toChanges } from './field-mask.ts';
import { takesIdempotencyKey } from './idempotency.ts';

/** Calls a function of the domain with the fields, and converts its result to a message. */
type Handler<Input extends DescMessage, CallType, Result> = (
  call: CallType,
  fields: Fields<Input>,
  peer: Peer,
) => Promise<Result>;

/** The result of a handler. Where the response has no fields, the result is ignored and may be anything. */
type Result<Output extends DescMessage> =
  Exclude<keyof MessageShape<Output>, `$${string}`> extends never ? unknown : MessageInitShape<Output>;

/** A handler for every unary RPC of the service. */
type Handlers<Service extends DescService, CallType> = {
  readonly [Name in keyof Service['method'] as Service['method'][Name] extends DescMethodUnary
    ? Name
    : never]: Service['method'][Name] extends DescMethodUnary<infer Input, infer Output>
    ? Handler<Input, CallType, Result<Output>>
    : never;
};

export type ApplicationHandlers<Service extends DescService> = Handlers<Service, TransactionalCall>;
export type ServiceHandlers<Service extends DescService> = Handlers<Service, Call>;

/** An RPC with its handler. Only a call with an API key has an application. */
export type Procedure = {
  readonly method: DescMethodUnary;
  /** Such as `usher.v1.WebhookService/GetWebhook`. */
  readonly name: string;
  /** The name without its package, such as `WebhookService/GetWebhook`. */
  readonly action: string;
  /** Whether a repeated call with the same `Idempotency-Key` gets the same answer. */
  readonly takesKey: boolean;
  /** The reason of the error if the application of the API key is deleted. */
  readonly deletedReason: ErrorReason;
} & (
  | { readonly credential: 'apiKey'; readonly handle: AnyHandler<TransactionalCall> }
  | { readonly credential: 'adminKey' | 'none'; readonly handle: AnyHandler<Call> }
);

type AnyHandler<CallType> = Handler<DescMessage, CallType, MessageInitShape<DescMessage>>;

export type Procedures = ReadonlyMap<string, Procedure>;

export function createApplicationProcedures<Service extends DescService>(
  service: Service,
  handlers: ApplicationHandlers<Service>,
): Procedure[] {
  return bind<TransactionalCall>(service, handlers).map((bound) => ({ ...bound, credential: 'apiKey' }));
}

export function createServiceProcedures<Service extends DescService>(
  service: Service,
  handlers: ServiceHandlers<Service>,
  credential: 'adminKey' | 'none',
): Procedure[] {
  const hide = credential === 'adminKey' ? hideOwnApplications : (handle: AnyHandler<Call>) => handle;
  return bind<Call>(service, handlers).map((bound) => ({ ...bound, handle: hide(bound.handle), credential }));
}

/** Usher's own applications are for the account page and the console. Operators must not change them. */
function hideOwnApplications(handle: AnyHandler<Call>): AnyHandler<Call> {
  return async (call, fields, peer) => {
    if ('applicationId' in fields && OWN_APPLICATION_IDS.some((id) => id === fields.applicationId))
      throw new ServiceError('APPLICATION_NOT_FOUND');
    return handle(call, fields, peer);
  };
}

function bind<CallType>(
  service: DescService,
  handlers: Readonly<Record<string, Handler<DescMessage, CallType, unknown> | undefined>>,
) {
  return service.methods.filter(isUnary).flatMap((method) => {
    const { input, localName, output, parent } = method;
    const handler = handlers[localName];
    if (!handler) return [];
    const name = pathOf(method).slice(1);
    // Only DeleteEvent says that the application is deleted, because its contract documents that error.
    const deletedReason = method === EventService.method.deleteEvent ? 'APPLICATION_DELETED' : 'INVALID_API_KEY';
    const action = `${parent.name}/${method.name}`;
    const facts = { method, name, action, takesKey: takesIdempotencyKey(method), deletedReason } as const;
    // The type `Result` allows other results than messages only where the response has no fields.
    const handle = (output.fields.length === 0 ? withoutResult(handler) : handler) as AnyHandler<CallType>;
    const update: AnyHandler<CallType> = (call, fields, peer) => handle(call, toChanges(input, fields), peer);
    return [{ ...facts, handle: input.fields.some(isFieldMask) ? update : handle }];
  });
}

function withoutResult<CallType>(handle: Handler<DescMessage, CallType, unknown>) {
  return (...parameters: Parameters<typeof handle>) => handle(...parameters).then(() => ({}));
}

/** @throws ServiceError `Unknown method` for an RPC that streams */
export function requireProcedure(procedures: Procedures, method: DescMethod): Procedure {
  const procedure = procedures.get(pathOf(method));
  if (!procedure) throw new ServiceError('UNKNOWN_METHOD', { detail: method.name });
  return procedure;
}

export function isUnary(method: DescMethod): method is DescMethod & DescMethodUnary {
  return method.methodKind === 'unary';
}

/** Returns the path of an RPC, such as `/usher.v1.WebhookService/GetWebhook`. */
export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}
