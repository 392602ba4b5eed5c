import type { JsonObject } from '@bufbuild/protobuf';
import type { MessageService } from '../../../gen/usher/v1/message_pb.ts';
import { toMessage } from '../../api/handlers/to-message.ts';
import type { ApplicationHandlers } from '../../api/procedures.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import { listMessages } from './domain/list-messages.ts';
import type { FeedMessage } from './domain/read-messages.ts';

export function createMessageHandlers(
  pageTokens: PageTokens,
): Pick<ApplicationHandlers<typeof MessageService>, 'listMessages'> {
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
