import type { ApplicationCall } from '../core/call.ts';
import { check, listOf, oneOf, optional, orDefault, type Unchecked } from '../core/validation.ts';
import { EVENT_TYPES } from '../outbox/event-types.ts';
import { cursorRule, DEFAULT_PAGE_SIZE, type PageTokens, pageRules } from '../pages/list.ts';
import { OLDEST, openCursor, sealCursor } from './feed-cursor.ts';
import { type FeedMessage, readMessages } from './read-messages.ts';

export const typesRule = orDefault(listOf(oneOf(EVENT_TYPES), { min: 0, max: EVENT_TYPES.length }), []);

const rules = { cursor: optional(cursorRule), pageSize: pageRules.pageSize, eventTypes: typesRule };

interface MessagePage {
  readonly messages: readonly FeedMessage[];
  readonly cursor: string;
}

/**
 * Returns the messages of the application after a cursor, oldest first.
 *
 * @throws ServiceError `Message feed is off`, `Cursor expired`
 */
export async function listMessages(
  call: ApplicationCall,
  tokens: PageTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<MessagePage> {
  const { cursor, pageSize, eventTypes } = check(request, rules);
  const { id } = call.application;
  const after = !cursor || cursor === OLDEST ? undefined : openCursor(tokens, id, cursor);
  const page = await readMessages(call, after, { types: eventTypes, size: pageSize ?? DEFAULT_PAGE_SIZE });
  return { messages: page.messages, cursor: sealCursor(tokens, id, page.cursor) };
}
