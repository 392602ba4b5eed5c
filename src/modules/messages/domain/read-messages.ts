import { type SQL, sql } from 'drizzle-orm';
import { messageFeeds } from '../../../database/delivery-schema.ts';
import { nullable, p, statement, t } from '../../../database/template.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import type { EventType } from '../../../domain/outbox/event-types.ts';
import { toMessageId } from '../../../domain/webhooks/message-id.ts';
import type { FeedCursor } from './feed-cursor.ts';
import { selectEnds } from './message-feeds.ts';

/** How many positions a statement reads. Those of erased users have no message. */
const WINDOW = 100;
/** With types: most positions may have messages of others. A statement reads them in some milliseconds. */
const WINDOW_OF_TYPES = 2_000;
/** How many statements a reader may need to pass positions without a message for it. */
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
  /** Before the messages. */
  readonly from: FeedCursor;
  /** After them. */
  readonly cursor: FeedCursor;
  /** Whether there may be more. */
  readonly isFull: boolean;
}

interface Reading {
  /** Without any, all types. */
  readonly types: readonly EventType[];
  /** How many messages at most. */
  readonly size: number;
}

type Reader = Pick<ApplicationCall, 'application' | 'run'>;

/** Returns an empty page after the last message of the feed. @throws ServiceError `Message feed is off` */
export async function readEnd({ application, run }: Reader): Promise<FeedPage> {
  const [feed] = await run(selectEnds, { applicationIds: [application.id] });
  if (!feed) throw new ServiceError('MESSAGE_FEED_OFF');
  const end = { epoch: feed.epoch, position: Number(feed.end) };
  return { messages: [], from: end, cursor: end, isFull: false };
}

/**
 * Returns messages after the cursor, or from the oldest one.
 *
 * @throws ServiceError `Message feed is off`, `Cursor expired`
 */
export async function readMessages(call: Reader, cursor: FeedCursor | undefined, reading: Reading): Promise<FeedPage> {
  let page = await readWindow(call, cursor, reading);
  const { from } = page;
  for (let window = 1; window < MAX_WINDOWS && page.isFull && page.messages.length === 0; window++)
    page = await readWindow(call, page.cursor, reading);
  return { ...page, from };
}

async function readWindow(
  { application, run }: Reader,
  cursor: FeedCursor | undefined,
  { types, size }: Reading,
): Promise<FeedPage> {
  const place = { applicationId: application.id, after: cursor ? String(cursor.position) : null, size };
  const rows = await (types.length > 0 ? run(selectMessagesOfTypes, { ...place, types }) : run(selectMessages, place));
  const [feed] = rows;
  if (!feed) throw new ServiceError('MESSAGE_FEED_OFF');
  const { epoch } = feed;
  const [start, end] = [Number(feed.start), Number(feed.end)];
  const from = cursor ?? { epoch, position: start };
  const isKept = from.epoch === epoch && from.position >= start && from.position <= end;
  // Of another epoch, or before the oldest kept message.
  if (!isKept) throw new ServiceError('CURSOR_EXPIRED');
  const messages: FeedMessage[] = [];
  let [last, characters, isFull] = [from.position, 0, false];
  for (const { at, messageId, payload } of rows) {
    if (at === null || messageId === null || payload === null) break;
    characters += payload.length;
    isFull = messages.length > 0 && characters > MAX_SIZE;
    if (isFull) break;
    messages.push(toFeedMessage(messageId, payload));
    last = Number(at);
  }
  if (isFull || messages.length === size) return { messages, from, cursor: { epoch, position: last }, isFull: true };
  const window = types.length > 0 ? WINDOW_OF_TYPES : WINDOW;
  const position = Math.min(from.position + window, end);
  return { messages, from, cursor: { epoch, position }, isFull: position < end };
}

function toFeedMessage(id: string, payload: string): FeedMessage {
  const { type, timestamp, data } = JSON.parse(payload) as { type: string; timestamp: string; data: object };
  return { messageId: toMessageId(id), type, occurredAt: new Date(timestamp), data };
}

/** A row for each message, and one without where there is none. No row if the feed is off. */
const ROW = {
  epoch: messageFeeds.epoch,
  start: t.bigint,
  end: t.bigint,
  at: nullable(t.bigint),
  messageId: nullable(t.bigint),
  payload: nullable(t.text),
};

/** One statement, so that no message expires between the check of the cursor and the reading. */
const selectMessages = statement('select_feed_messages', ROW)`${selectWindow(WINDOW)}`;
const selectMessagesOfTypes = statement('select_feed_messages_of_types', ROW)`
  ${selectWindow(WINDOW_OF_TYPES, sql`and m.type = any(${p.texts('types')})`)}`;

/**
 * Returns a statement that reads a range of positions, which have no gap. A limit instead could sort all of them: the
 * planner takes new feeds for short. Parameters: applicationId, after (null: from the oldest message), size.
 */
function selectWindow(window: number, condition: SQL = sql``): SQL {
  return sql`
  with feed as (
    select epoch, next_position - 1 as last, coalesce(
      (select min(position) - 1 from feed_positions where application_id = ${p.uuid('applicationId')}), next_position - 1
    ) as first
    from message_feeds where application_id = ${p.uuid('applicationId')} and is_active
  ), wanted as (
    select placed.position, m.id, m.payload from feed_positions placed
    join webhook_messages m on m.application_id = ${p.uuid('applicationId')} and m.id = placed.message_id ${condition}
    where placed.application_id = ${p.uuid('applicationId')}
      and placed.position > coalesce(${p.bigint('after')}, (select first from feed))
      and placed.position <= coalesce(${p.bigint('after')}, (select first from feed)) + ${sql.raw(String(window))}
    order by placed.position limit ${p.integer('size')}
  )
  select feed.epoch, feed.first as start, feed.last as end, wanted.position as at, wanted.id as message_id, wanted.payload
  from feed left join wanted on true order by wanted.position`;
}
