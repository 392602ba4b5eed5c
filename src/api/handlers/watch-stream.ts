/** WatchMessages: a stream with the API key of an application. */
import type { WatchMessagesRequest } from '../../../gen/usher/v1/message_pb.ts';
import type { MessageFeeds } from '../../domain/messages/message-feeds.ts';
import { watchMessages } from '../../domain/messages/watch-messages.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { requireApplication } from '../credentials.ts';
import type { PipelineParts } from '../pipeline.ts';
import type { ServiceParts } from '../service-parts.ts';
import { toMessages } from './message-handlers.ts';

interface WatchParts
  extends Pick<ServiceParts, 'apiKeys' | 'pageTokens'>,
    Pick<PipelineParts, 'adminKeys' | 'admission' | 'clock' | 'database' | 'lookUps' | 'requestTimeoutMs'> {
  /** Aborted when the server ends its streams. */
  readonly closing: AbortSignal;
}

export interface AdmittedStream {
  readonly applicationId: string;
  /** Yields the responses until the signal is aborted, because the caller has left. */
  run(request: WatchMessagesRequest, signal: AbortSignal): AsyncIterable<ReturnType<typeof toMessages>>;
}

/**
 * Returns a function that checks the credential, and counts the stream until it is closed, before anything of the request
 * is read. It throws a ServiceError.
 */
export function createWatchStream(
  feeds: MessageFeeds,
  parts: WatchParts,
): (context: HttpContext) => Promise<AdmittedStream> {
  const { admission, clock, closing, database, lookUps, pageTokens: tokens, requestTimeoutMs } = parts;

  return async (context) => {
    const requireKey = () => lookUps.run('', () => requireApplication(parts, context));
    const { application } = await requireKey();
    admission.check(application.id);
    const watcher = feeds.watch(application.id);
    context.onClose(() => watcher[Symbol.dispose]());
    const call = { application, run: database.eachWithin(requestTimeoutMs), now: clock() };
    return {
      applicationId: application.id,
      async *run(request: WatchMessagesRequest, signal) {
        for await (const found of watchMessages(call, { watcher, requireKey, tokens, closing, signal }, request))
          yield toMessages(found);
      },
    };
  };
}
