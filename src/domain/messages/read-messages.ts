import { sql } from 'drizzle-orm';
import { messageFeeds } from '../../database/delivery-schema.ts';
import { nullable, p, statement, t } from '../../database/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import type { EventType } from '../outbox/event-types.ts';
import { toMessageId } from '../webhooks/ids.ts';
import type { FeedCursor } from './feed-cursor.ts';

/** How many positions a statement reads. Those of other types, and of erased users, have no message. */
const WINDOW = 100;
/** How many statements a reader may need to pass positions without a message. */
const MAX_WINDOWS = 20;
/** The size of the messages of one response, in characters of JSON. */
const MAX_SIZE = 256 * 1024;

export interface FeedMessage {
  readonly messageId: string;
  readonly type: string;
  readonly occurredAt: Date;
  readonly data: object;
}

export interface FeedPage {
  readonly messages: readonly FeedMessage[];
  readonly cursor: FeedCursor;
  /** Whether there may be more. */
  readonly isFull: boolean;
}

/** Where a feed begins and ends. */
export interface FeedState {
  readonly epoch: string;
  /** The position after which the oldest message is kept. */
  readonly start: number;
  /** The position of the last message. */
  readonly end: number;
}

/** @throws ServiceError `Message feed is off` */
export async function readFeed({ application, run }: ApplicationCall): Promise<FeedState> {
  const [feed] = await run(selectFeed, { applicationId: application.id });
  if (!feed) throw new ServiceError('MESSAGE_FEED_OFF');
  return { epoch: feed.epoch, start: Number(feed.start), end: Number(feed.end) };
}

/** @throws ServiceError `Cursor expired` for a cursor of another epoch, or before the oldest kept message */
export function requireKept({ epoch, start, end }: FeedState, cursor: FeedCursor): void {
  const isKept = cursor.epoch === epoch && cursor.position >= start && cursor.position <= end;
  if (!isKept) throw new ServiceError('CURSOR_EXPIRED');
}

/** Returns up to `size` messages after a cursor, of the types or, without any, of all. */
export async function readMessages(
  { application, run }: Pick<ApplicationCall, 'application' | 'run'>,
  { epoch, position }: FeedCursor,
  { types, size }: { readonly types: readonly EventType[]; readonly size: number },
): Promise<FeedPage> {
  const messages: FeedMessage[] = [];
  let [last, characters] = [position, 0];
  for (let window = 0; window < MAX_WINDOWS; window++) {
    const rows = await run(selectMessages, { applicationId: application.id, after: String(last), types });
    for (const { at, messageId, payload } of rows) {
      if (messageId !== null && payload !== null) {
        characters += payload.length;
        const isTooMuch = messages.length === size || (messages.length > 0 && characters > MAX_SIZE);
        if (isTooMuch) return { messages, cursor: { epoch, position: last }, isFull: true };
        messages.push(toFeedMessage(messageId, payload));
      }
      last = Number(at);
    }
    const cursor = { epoch, position: last };
    if (rows.length < WINDOW) return { messages, cursor, isFull: false };
    if (messages.length > 0) return { messages, cursor, isFull: true };
  }
  return { messages, cursor: { epoch, position: last }, isFull: true };
}

function toFeedMessage(id: string, payload: string): FeedMessage {
  const { type, timestamp, data } = JSON.parse(payload) as { type: string; timestamp: string; data: object };
  return { messageId: toMessageId(id), type, occurredAt: new Date(timestamp), data };
}

const { epoch } = messageFeeds;

const selectFeed = statement('select_message_feed', { epoch, start: t.bigint, end: t.bigint })`
  select epoch, next_position - 1 as end,
    coalesce((select min(position) - 1 from feed_positions where application_id = ${p.uuid('applicationId')}),
      next_position - 1) as start
  from message_feeds where application_id = ${p.uuid('applicationId')} and is_active`;

const MESSAGE = { at: t.bigint, messageId: nullable(t.bigint), payload: nullable(t.text) };

const selectMessages = statement('select_feed_messages', MESSAGE)`
  select placed.position as at, m.id as message_id, m.payload
  from (
    select position, message_id from feed_positions
    where application_id = ${p.uuid('applicationId')} and position > ${p.bigint('after')}
    order by position limit ${sql.raw(String(WINDOW))}
  ) as placed
  left join webhook_messages m on m.application_id = ${p.uuid('applicationId')} and m.id = placed.message_id
    and (${p.texts('types')} = '{}' or m.type = any(${p.texts('types')}))
  order by placed.position`;
