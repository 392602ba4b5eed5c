/** What is known of a call when it begins, whichever protocol it came over. */
import type { Span } from '@opentelemetry/api';
import type { RequestContext } from '../http/http-context.ts';
import { startCallSpan } from './call-span.ts';

/** The largest request message in bytes, after decompression. */
export const MAX_MESSAGE_BYTES = 65_536;

export type Protocol = 'rest' | 'connect' | 'grpc' | 'grpc-web' | 'login';

export interface CallRoute {
  readonly method: string;
  /** Parameters are names, as in `/api/webhooks/:webhookId`. */
  readonly path: string;
}

export interface Call {
  readonly requestId: string;
  readonly protocol: Protocol;
  /** For the log, for example `usher.v1.WebhookService/GetWebhook`. */
  readonly name: string;
  /** Of REST and of the login page. */
  readonly route: CallRoute | undefined;
  /** In milliseconds of `performance.now()`, as is the deadline. */
  readonly startedAt: number;
  readonly deadline: number;
  /** Whether the caller set the deadline, and not Usher. */
  readonly isCallersDeadline: boolean;
  readonly span: Span | undefined;
}

type NewCall = Pick<Call, 'name' | 'protocol'> & {
  readonly route?: CallRoute | undefined;
  readonly timeoutMs?: number | undefined;
};

/** Begins a call. Its deadline is the caller's timeout or Usher's, whichever is shorter. */
export function createCall(
  context: RequestContext,
  { name, protocol, route, timeoutMs }: NewCall,
  requestTimeoutMs: number,
): Call {
  const { requestId, receivedAt } = context;
  const isCallersDeadline = timeoutMs !== undefined && timeoutMs < requestTimeoutMs;
  const deadline = receivedAt + (isCallersDeadline ? timeoutMs : requestTimeoutMs);
  const span = startCallSpan(context, name, protocol);
  return { requestId, protocol, name, route, startedAt: receivedAt, deadline, isCallersDeadline, span };
}
