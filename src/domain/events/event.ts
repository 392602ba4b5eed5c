import { type SQL, sql } from 'drizzle-orm';
import { events } from '../../database/schema.ts';
import { jsonObject, toIsoText } from '../webhooks/insert-message.ts';

export interface Event {
  readonly eventId: string;
  readonly name: string | null;
  readonly createdAt: Date;
}

export const eventColumns = { eventId: events.id, name: events.name, createdAt: events.createdAt };

/** Returns the data of a message about the event in the CTE. An event without a name has no `name`. */
export function eventData(cte: 'created' | 'deleted', more: Readonly<Record<string, SQL>> = {}): SQL {
  const row = sql.identifier(cte);
  const fields = { eventId: sql`${row}.id`, name: sql`${row}.name`, createdAt: toIsoText(sql`${row}.created_at`) };
  return jsonObject({ ...fields, ...more });
}
