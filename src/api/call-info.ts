/** The facts of a call for log, metrics and deadline, the same for every protocol. */
import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type { Span } from '@opentelemetry/api';
import type { AttemptCause, ErrorCode, ErrorReason } from '../domain/core/errors.ts';
import type { HttpErrorReason } from '../http/errors.ts';

/** The largest request message in bytes, after decompression. */
export const MAX_MESSAGE_BYTES = 65_536;
/** The same limit for health checks and reflection, which need no credential. */
export const MAX_PUBLIC_MESSAGE_BYTES = 1_024;

export type Protocol = 'rest' | 'connect' | 'grpc' | 'grpc-web' | 'login' | 'oidc' | 'console';

/** The protocols of RPCs as OpenTelemetry names them. */
export const RPC_SYSTEMS: Partial<Record<Protocol, string>> = {
  connect: 'connectrpc',
  grpc: 'grpc',
  'grpc-web': 'grpc',
};

export interface CallRoute {
  readonly method: string;
  /** Parameters are names, as in `/api/webhooks/:webhookId`. */
  readonly path: string;
}

export interface CallInfo {
  readonly requestId: string;
  readonly protocol: Protocol;
  /** For the log, for example `usher.v1.WebhookService/GetWebhook`. */
  readonly name: string;
  /** Undefined for RPCs. */
  readonly route: CallRoute | undefined;
  /** In milliseconds of `performance.now()`, like the deadline. */
  readonly startedAt: number;
  readonly deadline: number;
  /** Whether the deadline follows from the caller's timeout, not from Usher's. */
  readonly isCallersDeadline: boolean;
  /** Returns whether the caller has left before it had the whole response. */
  readonly isGone: () => boolean;
  readonly span: Span | undefined;
  /** The page of the API reference about errors. */
  readonly errorsUrl: string;
  /** How it will have ended. The work of the call replaces it with what it learns. */
  outcome: CallOutcome;
}

/** How a call ended. */
export interface CallOutcome {
  readonly code: ErrorCode | 'ok';
  readonly reason?: ErrorReason | HttpErrorReason | Lowercase<string> | AttemptCause | 'PASSKEY_COUNTER_STEPPED_BACK';
  /** The cause, for the log, where the reason does not name it. */
  readonly detail?: string | undefined;
  readonly applicationId?: string | undefined;
  /** Whether the caller had a valid credential. */
  readonly isAuthenticated?: boolean;
}

/** The fields of a request, before validation: over REST a value may be any JSON. */
export type Fields<Input extends DescMessage = DescMessage> = {
  readonly [Name in keyof MessageShape<Input>]?: unknown;
};

export type ResponseMessage = MessageInitShape<DescMessage>;
