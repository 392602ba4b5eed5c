/** RPCs that a module answers. Without it they are unimplemented, and their routes answer 404. */
import type { DescMethodServerStreaming, Message } from '@bufbuild/protobuf';
import type { HttpContext } from '../http/http-context.ts';
import type { Admission } from './admission.ts';
import type { PipelineParts } from './pipeline.ts';
import type { Procedure } from './procedures.ts';
import type { ServiceParts } from './service-parts.ts';

/** What RPCs need. */
export interface RpcParts
  extends ServiceParts,
    Pick<PipelineParts, 'adminKeys' | 'clock' | 'database' | 'requestTimeoutMs'> {
  readonly admission: Admission;
  readonly lookUps: Admission;
  /** Aborted when the server ends its streams. */
  readonly closing: AbortSignal;
}

export interface ModuleRpcs {
  readonly procedures: readonly Procedure[];
  readonly streams?: readonly ApplicationStream[];
  /** Called when this process has fanned out messages of an application. */
  readonly onFannedOut?: (applicationId: string) => void;
}

/** An RPC that streams to an application with its API key. */
export interface ApplicationStream {
  readonly method: DescMethodServerStreaming;
  /**
   * Checks the credential, and counts the stream until it is closed, before anything of the request is read.
   *
   * @throws ServiceError
   */
  admit(context: HttpContext): Promise<AdmittedStream>;
}

export interface AdmittedStream {
  readonly applicationId: string;
  /** Yields the responses until the signal is aborted, because the caller has left. */
  run(request: Message, signal: AbortSignal): AsyncIterable<Record<string, unknown>>;
}
