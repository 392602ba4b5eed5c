import type { JsonObject } from '@bufbuild/protobuf';
import type { MessageService } from '../../../gen/usher/v1/message_pb.ts';
import { listMessages } from '../../domain/messages/list-messages.ts';
import type { FeedMessage } from '../../domain/messages/read-messages.ts';
import type { PageTokens } from '../../domain/pages/list.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

export function createMessageHandlers(pageTokens: PageTokens): ApplicationHandlers<typeof MessageService> {
  return {
    listMessages: async (call, fields) => toMessages(await listMessages(call, pageTokens, fields)),
  };
}

/** Returns the response of both RPCs. */
export function toMessages({ messages, cursor }: { messages: readonly FeedMessage[]; cursor: string }) {
  return {
    messages: messages.map(({ data, ...message }) => ({ ...toMessage(message), data: data as JsonObject })),
    cursor,
  };
}
