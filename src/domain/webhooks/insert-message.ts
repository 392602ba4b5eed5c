/** Messages to webhooks. They are inserted by the statement that makes the change, so that both commit or neither does. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Db } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { webhookMessages, webhooks } from '../../database/webhook-schema.ts';
import { EVERY_TYPE, type EventType } from './event-types.ts';

export interface Message {
  readonly type: EventType;
  /** The fields of `data`, as the REST API names and writes them. Those that are null are left out. */
  readonly data: SQL;
  /** What follows `from`: a row for each message, so none where nothing has changed. */
  readonly from: SQL;
  /** The application of each row; the placeholder `applicationId` where it is not given. */
  readonly applicationId?: SQL;
}

/** Returns the CTE `message`, which inserts messages for applications with an active webhook that subscribes. */
export function insertMessage(db: Db, { type, data, from, applicationId = callersId }: Message) {
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const timestamp = toIsoText(now);
  return db.$with('message', { applicationId: sql<string>`application_id`.as('application_id') }).as(sql`
    insert into ${webhookMessages} (application_id, type, payload, created_at)
    select ${applicationId}, ${type}::text,
      json_strip_nulls(json_build_object('type', ${type}::text, 'timestamp', ${timestamp}, 'data', ${data}))::text,
      ${now}
    from ${from}
    where exists (
      select 1 from ${webhooks}
      where webhooks.application_id = ${applicationId} and webhooks.is_active and webhooks.event_types <> '{}'
        and webhooks.event_types && array[${type}::text, ${EVERY_TYPE}::text]
    )
    returning application_id`);
}

const callersId = sql`${sql.placeholder('applicationId')}::uuid`;

export interface HasMessage {
  readonly hasMessage: boolean;
}

/** Whether the statement has inserted a message. */
export const hasMessage = sql<boolean>`exists (select 1 from message)`.as('has_message');

/** Returns a JSON object of the fields. */
export function jsonObject(fields: Readonly<Record<string, SQLWrapper>>): SQL {
  const entries = Object.entries(fields).map(([name, value]) => sql`${name}::text, ${value}`);
  return sql`json_build_object(${sql.join(entries, sql`, `)})`;
}

/** Returns an instant as the REST API writes it. */
export function toIsoText(instant: SQLWrapper): SQL {
  return sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
