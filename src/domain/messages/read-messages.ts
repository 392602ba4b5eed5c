import { sql } from 'drizzle-orm';
import { messageFeeds } from '../../database/schema/delivery-schema.ts';
import { nullable, p, statement, t } from '../../database/sql/template.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import type { EventType } from '../outbox/event-types.ts';
import { toMessageId } from '../webhooks/delivery.ts';
import type { FeedCursor } from './feed-cursor.ts';
import { selectEnds } from './message-feeds.ts';

/** How many positions a statement reads, of the types if there are some. Those of erased users have no message. */
const WINDOW = 100;
/** How many positions a call reads at most, with and without a message for it. Then its page may be empty. */
const MAX_POSITIONS = 2_000;
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
 * Returns messages after the cursor, or from the oldest one. After many positions without a message for the reader, it
 * returns an empty page with `isFull`: however rare the types are, one call costs others little.
 *
 * @throws ServiceError `Message feed is off`, `Cursor expired`
 */
export async function readMessages(call: Reader, cursor: FeedCursor | undefined, reading: Reading): Promise<FeedPage> {
  let page = await readNext(call, cursor, reading);
  const { from } = page;
  let positions = page.positions;
  while (page.isFull && page.messages.length === 0 && positions < MAX_POSITIONS) {
    page = await readNext(call, page.cursor, reading);
    positions += page.positions;
  }
  return { ...page, from };
}

async function readNext(
  { application, run }: Reader,
  cursor: FeedCursor | undefined,
  { types, size }: Reading,
): Promise<FeedPage & { readonly positions: number }> {
  const place = { applicationId: application.id, after: cursor ? String(cursor.position) : null, size };
  const rows = await (types.length > 0 ? run(selectMessagesOfTypes, { ...place, types }) : run(selectMessages, place));
  const [feed] = rows;
  if (!feed) throw new ServiceError('MESSAGE_FEED_OFF');
  const { epoch, positions } = feed;
  const [start, end, reached] = [Number(feed.start), Number(feed.end), Number(feed.reached)];
  const from = cursor ?? { epoch, position: start };
  const isKept = from.epoch === epoch && from.position >= start && from.position <= end;
  // Of another epoch, or before the oldest kept message.
  if (!isKept) throw new ServiceError('CURSOR_EXPIRED');
  const messages: FeedMessage[] = [];
  let [last, characters, isFull] = [from.position, 0, false];
  for (const { at, messageId, payload } of rows) {
    // Equivalent: condition: a row has all three, or none
    if (at === null || messageId === null || payload === null) break;
    characters += payload.length;
    isFull = messages.length > 0 && characters > MAX_SIZE;
    if (isFull) break;
    messages.push(toFeedMessage(messageId, payload));
    last = Number(at);
  }
  const page = { messages, from, positions };
  if (isFull || messages.length === size) return { ...page, cursor: { epoch, position: last }, isFull: true };
  return { ...page, cursor: { epoch, position: reached }, isFull: reached < end };
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
  /** The last position that was looked at. */
  reached: t.bigint,
  /** How many were looked at. */
  positions: t.integer,
  at: nullable(t.bigint),
  messageId: nullable(t.bigint),
  payload: nullable(t.text),
};

const feed = sql`feed as (
    select epoch, next_position - 1 as last, coalesce(
      (select min(position) - 1 from feed_positions where application_id = ${p.uuid('applicationId')}), next_position - 1
    ) as first
    from message_feeds where application_id = ${p.uuid('applicationId')} and is_active
  )`;
const after = sql`coalesce(${p.bigint('after')}, (select first from feed))`;
const window = sql.raw(String(WINDOW));
const maxPositions = sql.raw(String(MAX_POSITIONS));

/**
 * Reads a range of positions, which have no gap. A limit instead could sort all of them: the planner takes new feeds for
 * short. One statement, so that no message expires between the check of the cursor and the reading. Parameters:
 * applicationId, after (null: from the oldest message), size.
 */
const selectMessages = statement('select_feed_messages', ROW)`
  with ${feed}, wanted as (
    select placed.position, m.id, m.payload from feed_positions placed
    join webhook_messages m on m.application_id = ${p.uuid('applicationId')} and m.id = placed.message_id
    where placed.application_id = ${p.uuid('applicationId')}
      and placed.position > ${after} and placed.position <= ${after} + ${window}
    order by placed.position limit ${p.integer('size')}
  )
  select feed.epoch, feed.first as start, feed.last as end, least(${after} + ${window}, feed.last) as reached,
    ${window} as positions, wanted.position as at, wanted.id as message_id, wanted.payload
  from feed left join wanted on true order by wanted.position`;

const ofFeed = sql`application_id = ${p.uuid('applicationId')} and position > ${after}`;

/**
 * Reads positions of the types, and those of which no type is stored until a limit. Looks at none after the last one
 * that it has read of either. Further parameter: types.
 */
const selectMessagesOfTypes = statement('select_feed_messages_of_types', ROW)`
  with ${feed}, typed as (
    select found.position, found.message_id from unnest(${p.texts('types')}) as wanted_type (type)
    cross join lateral (
      select position, message_id from feed_positions where ${ofFeed} and type = wanted_type.type
      -- Equivalent: limit: that of all types is the same
      order by position limit ${window}
    ) as found
    order by position limit ${window}
  ), untyped as (
    select position, message_id from feed_positions where ${ofFeed} and type is null
    order by position limit ${maxPositions}
  ), counted as (
    select (select count(*) from typed)::integer as with_type, (select count(*) from untyped)::integer as without
  ), read as (
    select with_type + without as positions, least(
      (select max(position) from typed where with_type = ${window}),
      (select max(position) from untyped where without = ${maxPositions}),
      (select last from feed)
    ) as reached
    from counted
  ), wanted as (
    select placed.position, m.id, m.payload
    from (select position, message_id from typed union all select position, message_id from untyped) as placed
    join webhook_messages m on m.application_id = ${p.uuid('applicationId')} and m.id = placed.message_id
      and m.type = any(${p.texts('types')})
    where placed.position <= (select reached from read)
    order by placed.position limit ${p.integer('size')}
  )
  select feed.epoch, feed.first as start, feed.last as end, read.reached, read.positions, wanted.position as at,
    wanted.id as message_id, wanted.payload
  from feed cross join read left join wanted on true order by wanted.position`;
