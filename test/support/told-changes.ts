/** Changes of applications that have webhooks, to compare what was acknowledged, committed and delivered. */
import { randomUUID } from 'node:crypto';
import type postgres from 'postgres';
import { clientsOf, createTenant, createTestUser, type Tenant } from './service.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

const TYPES = ['event.created', 'event.deleted', 'check_in.created'];

/** Creates applications, each with a webhook at a path of its own. */
export async function createSubscribers(
  service: { url: string },
  receiver: WebhookReceiver,
  count: number,
): Promise<Tenant[]> {
  const { id: ownerId } = await createTestUser(service);
  return Promise.all(
    Array.from({ length: count }, async (_, number) => {
      const tenant = await createTenant(service);
      const url = `${receiver.url}/${number}`;
      await clientsOf(service, tenant).webhooks.createWebhook({ url, ownerId, eventTypes: TYPES });
      return tenant;
    }),
  );
}

/**
 * Returns a call that makes three changes and tries two that are refused, in an application by turns. It notes each
 * change that is acknowledged, as `check_in.created <id>`.
 */
export function makeChanges(tenants: readonly Tenant[], urlOf: () => string, acknowledged: Set<string>) {
  let calls = 0;
  return async (): Promise<string> => {
    const apiKey = tenants[calls++ % tenants.length]?.apiKey ?? '';
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    const call = async (method: string, path: string, body?: object) => {
      const reply = await fetch(`${urlOf()}/api/events${path}`, {
        method,
        headers,
        body: JSON.stringify(body) ?? null,
      });
      await reply.arrayBuffer();
      return reply;
    };
    const [eventId, attendeeId] = [randomUUID(), randomUUID()];
    if ((await call('POST', '', { eventId })).ok) acknowledged.add(`event.created ${eventId}`);
    const checkIn = () => call('POST', `/${eventId}/check-ins`, { attendeeId });
    if ((await checkIn()).ok) acknowledged.add(`check_in.created ${attendeeId}`);
    if ((await call('DELETE', `/${eventId}`)).ok) acknowledged.add(`event.deleted ${eventId}`);
    return [await call('DELETE', `/${eventId}`), await checkIn()].map(({ status }) => status).join();
  };
}

/** Returns the changes that have committed. */
export async function findCommitted(sql: postgres.Sql): Promise<Set<string>> {
  const rows = await sql`
    select 'event.created ' || id as change from events
    union all select 'event.deleted ' || id from events where deleted_at is not null
    union all select 'check_in.created ' || attendee_id from check_ins`;
  return new Set(rows.map(({ change }) => change));
}

/** Returns the IDs of the messages that were received for each change. More than one is a second message. */
export function findTold({ messages }: WebhookReceiver): Map<string, Set<string>> {
  const told = new Map<string, Set<string>>();
  for (const { id, body } of messages) {
    const { type, data } = JSON.parse(body);
    const change = `${type} ${data.attendeeId ?? data.eventId}`;
    told.set(change, (told.get(change) ?? new Set()).add(id));
  }
  return told;
}

/** Returns how many messages have been received and are still pending: those that a kill makes come again. */
export async function countUnsettled(sql: postgres.Sql, { messages }: WebhookReceiver): Promise<number> {
  const pending = await sql`select message_id::text as id from webhook_deliveries where due_at is not null`;
  const received = new Set(messages.map(({ headers }) => headers['webhook-sequence']));
  return pending.filter(({ id }) => received.has(id)).length;
}

/** Returns how many messages are not yet fanned out or delivered. */
export async function countPending(sql: postgres.Sql): Promise<number> {
  const [row] = await sql`select
    (select count(*) from webhook_messages where fanned_out_to is not null)::int
    + (select count(*) from webhook_deliveries where due_at is not null)::int as count`;
  return row?.count;
}
