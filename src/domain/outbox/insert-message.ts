/** Messages to webhooks. The statement that makes a change inserts its message, so that both commit or neither does. */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { p, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { EVERY_TYPE, type EventType, LOGOUT } from './event-types.ts';

export interface Message {
  readonly type: EventType | typeof LOGOUT;
  /** The fields of `data`, in the names and formats of the REST API. Null fields are left out. */
  readonly data: SQL;
  /** The SQL after `from`. It has a row for each message, and none if nothing has changed. */
  readonly from: SQL;
  /** The application of each row. Defaults to the parameter `applicationId`. */
  readonly applicationId?: SQL;
  /** Distinguishes messages to the same application, if it may get several. */
  readonly part?: SQL;
  /** The user whose personal data is in `data`: an erasure of the user removes the message. */
  readonly userId?: SQL;
}

/**
 * Returns the CTE `message`, which inserts messages for applications with an active webhook that subscribes.
 * Parameter: now.
 */
export function messagesOf(...messages: readonly Message[]): SQL {
  const now = p.instant('now');
  const payload = jsonObject({ type: sql`change.type`, timestamp: toIsoText(now), data: sql`change.data` });
  return sql`message as (
    insert into webhook_messages (application_id, type, payload, created_at, user_id)
    select change.application_id, change.type, json_strip_nulls(${payload})::text, ${now}, change.user_id
    from (${sql.join(messages.map(selectSubscribed), sql` union all `)}) as change
    returning application_id)`;
}

/** Selects the rows of a message whose application has a webhook for it: at most one for each application and part. */
function selectSubscribed({ type, data, from, applicationId, part, userId = sql`null` }: Message): SQL {
  const columns = sql`${literal(type)}::text as type, ${data} as data, ${userId}::uuid as user_id`;
  const change = sql`(
    select ${applicationId ?? callersId} as application_id, ${columns}, ${part ?? sql`null`} as part from ${from}) as change`;
  const row = sql`change.application_id, change.type, change.data, change.user_id`;
  // A join: a subquery on a distributed table must not refer to the rows of a CTE.
  if (applicationId) {
    return sql`select distinct on (change.application_id, change.part) ${row} from ${change}
      join webhooks w on ${isReceiver(type, sql`change.application_id`)}`;
  }
  const once = part ? sql`distinct on (change.part)` : sql``;
  return sql`select ${once} ${row} from ${change} where ${hasSubscriber(type, callersId)}`;
}

function hasSubscriber(type: Message['type'], applicationId: SQL): SQL {
  return sql`exists (select 1 from webhooks w where ${isReceiver(type, applicationId)})`;
}

/** Returns the condition that an active webhook of the application subscribes to any of the types. */
export function hasSubscriberToAny(types: readonly EventType[], applicationId: SQL): SQL {
  const list = sql.join([...types, EVERY_TYPE].map(literal), sql`, `);
  return sql`exists (
    select 1 from webhooks
    where application_id = ${applicationId} and is_active
      -- Equivalent: conjunct: only lets Postgres use the index
      and event_types <> '{}'
      and event_types && array[${list}])`;
}

/** Returns the condition that webhook `w` belongs to the application and gets messages of the type. */
function isReceiver(type: Message['type'], applicationId: SQL): SQL {
  return type === LOGOUT ? isLogoutEndpoint(applicationId) : isSubscribed(literal(type), applicationId);
}

/** Compares the primary key, because an application may have many webhooks. */
function isLogoutEndpoint(applicationId: SQL): SQL {
  return sql`w.application_id = ${applicationId} and w.id = ${logoutEndpointId(applicationId)} and w.is_active`;
}

/** Returns the ID that an application's endpoint for back-channel logout has in `webhooks`. */
export function logoutEndpointId(applicationId: SQL): SQL {
  return sql`('logout_' || ${applicationId}::text)`;
}

/**
 * Returns the condition that webhook `w` is active, belongs to the application and subscribes to the type. `*` excludes
 * logouts.
 */
export function isSubscribed(type: SQL, applicationId: SQL): SQL {
  const every = sql`case when ${type} = ${literal(LOGOUT)} then ${type} else ${literal(EVERY_TYPE)} end`;
  return sql`
    w.application_id = ${applicationId} and w.is_active
    -- Equivalent: conjunct: only lets Postgres use the index
    and w.event_types <> '{}'
    and w.event_types && array[${type}, ${every}]`;
}

const callersId = p.uuid('applicationId');

export interface HasMessages {
  /** The applications for which the statement has inserted messages. Some may occur twice. */
  readonly notifiedIds: readonly string[];
}

export const HAS_MESSAGES = { notifiedIds: t.json<readonly string[]>() };

/** The column `notified_ids` of a statement that has the CTE `message`. */
export const notified = sql`array_to_json(array(select application_id from message)) as notified_ids`;

/** Wakes the delivery of inserted messages. */
export function announce(onMessage: Call['onMessage'], { notifiedIds }: HasMessages): void {
  for (const applicationId of notifiedIds) onMessage?.(applicationId);
}

export function jsonObject(fields: Readonly<Record<string, SQLWrapper>>): SQL {
  const entries = Object.entries(fields).map(([name, value]) => sql`${literal(name)}, ${value}`);
  return sql`json_build_object(${sql.join(entries, sql`, `)})`;
}

/** Puts a constant into the SQL text: as parameters, field names would cost more than all values. */
function literal(text: string): SQL {
  return sql`${text}`.inlineParams();
}

/** Returns an instant as the REST API writes it. */
export function toIsoText(instant: SQLWrapper): SQL {
  return sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
