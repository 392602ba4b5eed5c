/** WatchMessages: a stream with the API key of an application. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import {
  MessageService,
  type WatchMessagesRequest,
  type WatchMessagesResponseSchema,
} from '../../../gen/usher/v1/message_pb.ts';
import type { Database } from '../../database/database.ts';
import type { ApplicationCall } from '../../domain/core/call.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import type { MessageFeeds } from '../../domain/messages/message-feeds.ts';
import { watchMessages } from '../../domain/messages/watch-messages.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { Admission } from '../admission.ts';
import { type Credentials, requireApplication } from '../credentials.ts';
import { toMessages } from '../handlers/message-handlers.ts';

export const WATCH_MESSAGES = MessageService.method.watchMessages;

export interface WatchParts extends Credentials {
  readonly admission: Admission;
  /** Aborted when the server ends its streams. */
  readonly closing: AbortSignal;
  readonly database: Database;
  readonly feeds: MessageFeeds;
  readonly lookUps: Admission;
  readonly pageTokens: PageTokens;
  readonly requestTimeoutMs: number;
}

interface Caller {
  readonly call: ApplicationCall;
  readonly watcher: ReturnType<MessageFeeds['watch']>;
  /** @throws ServiceError `Invalid API key` once the key is revoked */
  requireKey(): Promise<unknown>;
}

/** The caller of a watch. The edge sets it before Connect reads the request. */
export const callerKey = createContextKey<Caller | undefined>(undefined);

export type MessageStreams = ReturnType<typeof createMessageStreams>;

export function createMessageStreams(parts: WatchParts) {
  const { admission, clock, closing, database, feeds, lookUps, pageTokens: tokens, requestTimeoutMs } = parts;
  const limit = () => performance.now() + requestTimeoutMs;

  /**
   * Checks the credential, and counts the stream until it is closed, before anything of the request is read.
   *
   * @throws ServiceError
   */
  async function admit(context: HttpContext): Promise<Caller> {
    const requireKey = () =>
      lookUps.run('', () => requireApplication(parts, context, { method: WATCH_MESSAGES, deadline: limit() }));
    const { application } = await requireKey();
    admission.check(application.id);
    const watcher = feeds.watch(application.id);
    context.onClose(() => watcher[Symbol.dispose]());
    const run: ApplicationCall['run'] = (statement, parameters) => database.run(statement, parameters, limit());
    return { call: { application, run, now: clock() }, watcher, requireKey };
  }

  async function* watch(
    request: WatchMessagesRequest,
    { signal, values }: HandlerContext,
  ): AsyncGenerator<MessageInitShape<typeof WatchMessagesResponseSchema>> {
    const caller = values.get(callerKey);
    if (!caller) throw new ServiceError('INVALID_API_KEY');
    const { call, ...others } = caller;
    for await (const found of watchMessages(call, { ...others, tokens, closing, signal }, request))
      yield toMessages(found);
  }

  return { admit, watch };
}
