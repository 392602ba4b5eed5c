/** RPCs that stream to an application with its API key. */
import type { DescMethodServerStreaming, Message } from '@bufbuild/protobuf';
import type { HttpContext } from '../http/http-context.ts';

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
