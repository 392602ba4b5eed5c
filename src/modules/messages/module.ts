import { MessageService } from '../../../gen/usher/v1/message_pb.ts';
import { createApplicationProcedures } from '../../api/procedures.ts';
import type { Module } from '../module.ts';
import { MessageFeeds } from './domain/message-feeds.ts';
import { createMessageHandlers } from './message-handlers.ts';
import { createWatchStream } from './watch-stream.ts';

/** What webhooks get, pulled or streamed. Fan-out, which is core, gives messages their places in the feed. */
export const messagesModule: Module = {
  name: 'messages',
  settings: {},
  createRpcs(_config, parts) {
    const feeds = new MessageFeeds(parts.database, parts.requestTimeoutMs);
    return {
      procedures: createApplicationProcedures(MessageService, createMessageHandlers(parts.pageTokens)),
      streams: [createWatchStream(feeds, parts)],
      onFannedOut: feeds.wake,
    };
  },
};
