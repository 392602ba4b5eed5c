/** Messages to webhooks. They are inserted by the statement that makes the change, so that both commit or neither does. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Db } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { webhookMessages, webhooks } from '../../database/webhook-schema.ts';
import type { Call } from '../call.ts';
import { EVERY_TYPE, type EventType } from './event-types.ts';

export interface Message {
  readonly type: EventType;
  /** The fields of `data`, as the REST API names and writes them. Those that are null are left out. */
  readonly data: SQL;
  /** What follows `from`: a row for each message, so none where nothing has changed. */
  readonly from: SQL;
  /** The application of each row; the placeholder `applicationId` where it is not given. */
  readonly applicationId?: SQL;
  /** Whose personal data each row has: an erasure of the user removes the message. */
  readonly userId?: SQL;
}

/**
 * Returns the CTE `message`, which inserts messages for applications with an active webhook that subscribes.
 * Placeholder: now.
 */
export function insertMessages(db: Db, ...messages: readonly Message[]) {
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const changes = messages.map(({ type, data, from, applicationId = callersId, userId = sql`null` }) => {
    const columns = sql`${applicationId} as application_id, ${literal(type)}::text as type, ${data} as data`;
    return sql`select ${columns}, ${userId}::uuid as user_id from ${from}`;
  });
  const payload = jsonObject({ type: sql`change.type`, timestamp: toIsoText(now), data: sql`change.data` });
  return db.$with('message', { applicationId: sql<string>`application_id`.as('application_id') }).as(sql`
    insert into ${webhookMessages} (application_id, type, payload, created_at, user_id)
    select change.application_id, change.type, json_strip_nulls(${payload})::text, ${now}, change.user_id
    from (${sql.join(changes, sql` union all `)}) as change
    where ${hasSubscriber(sql`change.type`, sql`change.application_id`)}
    returning application_id`);
}

/** Whether an active webhook of the application subscribes to the type. */
export function hasSubscriber(type: EventType | SQL, applicationId: SQL): SQL {
  return sql`exists (
    select 1 from ${webhooks}
    where webhooks.application_id = ${applicationId} and webhooks.is_active and webhooks.event_types <> '{}'
      and webhooks.event_types && array[${typeof type === 'string' ? literal(type) : type}::text, ${literal(EVERY_TYPE)}])`;
}

const callersId = sql`${sql.placeholder('applicationId')}::uuid`;

export interface HasMessage {
  readonly hasMessage: boolean;
}

/** Whether the statement has inserted a message. */
export const hasMessage = sql<boolean>`exists (select 1 from message)`.as('has_message');

export interface HasMessages {
  readonly notifiedIds: readonly string[];
}

/** The applications that the statement has inserted messages for. */
export const notifiedIds = sql<string[]>`array_to_json(array(select distinct application_id from message))`.as(
  'notified_ids',
);

/** Wakes the delivery to them. */
export function announce({ onMessage }: Call, { notifiedIds }: HasMessages): void {
  for (const applicationId of notifiedIds) onMessage?.(applicationId);
}

/** Returns a JSON object of the fields. */
export function jsonObject(fields: Readonly<Record<string, SQLWrapper>>): SQL {
  const entries = Object.entries(fields).map(([name, value]) => sql`${literal(name)}, ${value}`);
  return sql`json_build_object(${sql.join(entries, sql`, `)})`;
}

/** Writes a constant into the text: as parameters, the names of fields would cost more than all values. */
function literal(text: string): SQL {
  return sql`${text}`.inlineParams();
}

/** Returns an instant as the REST API writes it. */
export function toIsoText(instant: SQLWrapper): SQL {
  return sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
