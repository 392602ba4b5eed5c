/** What is known of a call, over whichever protocol it came; on Connect's own way it is in the context values. */
import { type Code, type ConnectError, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { Database, Deadline } from '../database/database.ts';
import type { Application, ApplicationCall, Call } from '../domain/call.ts';
import type { Peer } from '../domain/sessions/exchange-token.ts';
import { headerOf, type RequestContext } from '../http/http-context.ts';

/** The largest message a caller may send, in bytes, decompressed. */
export const MAX_MESSAGE_BYTES = 65_536;

export type RpcProtocol = 'connect' | 'grpc' | 'grpc-web';

export class RpcCall implements Call {
  readonly requestId: string;
  /** For example `usher.v1.WebhookService/GetWebhook`. */
  readonly procedure: string;
  readonly protocol: RpcProtocol | 'rest';
  readonly startedAt: number;
  /** When the call must have been answered. */
  readonly deadline: Deadline;
  /** Whether the deadline is the caller's own rather than ours. */
  readonly isDeadlineOfCaller: boolean;
  readonly run: Call['run'];
  readonly peer: Peer;
  readonly apiKey: string | undefined;
  readonly adminKey: string | undefined;
  /** Set by the gate. */
  application: Application | undefined;
  /** Where the call has got to: at the gate, being decoded, or with the implementation. */
  phase: 'gate' | 'decoding' | 'implementation' = 'gate';
  /** Set on Connect's own way, past the gate: its signal, aborted with the error when the request cannot be decoded. */
  signal: AbortSignal | undefined;
  /** Set when the call is to be answered with this error, whatever it asks for. */
  rejection: ConnectError | undefined;
  /** How the call ended. */
  code: Code | 'ok' = 'ok';
  /** Why, where the answer does not tell, for the log. */
  reason: string | undefined;
  readonly #clock: () => Date;
  #now: Date | undefined;

  constructor(
    context: RequestContext,
    {
      procedure,
      protocol,
      timeoutMs,
    }: { procedure: string; protocol: RpcCall['protocol']; timeoutMs?: number | undefined },
    { database, clock, requestTimeoutMs }: CallEnvironment,
  ) {
    this.requestId = context.requestId;
    this.procedure = procedure;
    this.protocol = protocol;
    this.startedAt = context.receivedAt;
    this.isDeadlineOfCaller = timeoutMs !== undefined && timeoutMs < requestTimeoutMs;
    this.deadline = this.startedAt + Math.min(timeoutMs ?? requestTimeoutMs, requestTimeoutMs);
    this.run = database.within(this.deadline);
    this.#clock = clock;
    this.peer = { ipAddress: context.clientAddress, userAgent: headerOf(context, 'user-agent') ?? '' };
    this.apiKey = headerOf(context, 'x-api-key');
    this.adminKey = headerOf(context, 'x-admin-key');
  }

  /** When the implementation first asked for the time: the body may have been long in coming. */
  get now(): Date {
    this.#now ??= this.#clock();
    return this.#now;
  }
}

/** What calls are made in. */
export interface CallEnvironment {
  readonly database: Database;
  readonly clock: () => Date;
  /** The longest a call may take. */
  readonly requestTimeoutMs: number;
}

export const callKey = createContextKey<RpcCall | undefined>(undefined);

/** Throws where there is none: a handler that is reached without a call is a bug. */
export function callOf({ values }: Pick<HandlerContext, 'values'>): RpcCall {
  const call = values.get(callKey);
  if (!call) throw new Error('The context has no call');
  return call;
}

/** Throws where the gate has not let an application in. */
export function applicationCallOf(call: RpcCall): ApplicationCall {
  if (!isApplicationCall(call)) throw new Error(`${call.procedure} was reached without an application`);
  return call;
}

function isApplicationCall(call: RpcCall): call is RpcCall & ApplicationCall {
  return call.application !== undefined;
}
