/** What is known of a call when it begins, whichever protocol it came over. */
import type { RequestContext } from '../http/http-context.ts';

/** The largest request message in bytes, after decompression. */
export const MAX_MESSAGE_BYTES = 65_536;

export type Protocol = 'rest' | 'connect' | 'grpc' | 'grpc-web' | 'login';

export interface Call {
  readonly requestId: string;
  readonly protocol: Protocol;
  /** For the log, for example `usher.v1.WebhookService/GetWebhook`. */
  readonly name: string;
  /** In milliseconds of `performance.now()`, as is the deadline. */
  readonly startedAt: number;
  readonly deadline: number;
  /** Whether the caller set the deadline, and not Usher. */
  readonly isCallersDeadline: boolean;
}

/** Begins a call. Its deadline is the caller's timeout or Usher's, whichever is shorter. */
export function createCall(
  { requestId, receivedAt }: RequestContext,
  { name, protocol, timeoutMs }: { name: string; protocol: Protocol; timeoutMs?: number | undefined },
  requestTimeoutMs: number,
): Call {
  const isCallersDeadline = timeoutMs !== undefined && timeoutMs < requestTimeoutMs;
  const deadline = receivedAt + (isCallersDeadline ? timeoutMs : requestTimeoutMs);
  return { requestId, protocol, name, startedAt: receivedAt, deadline, isCallersDeadline };
}
