/** Changes of applications that have webhooks, to compare what was acknowledged, committed and delivered. */
import { randomUUID } from 'node:crypto';
import type postgres from 'postgres';
import { expect } from 'vitest';
import { clientsOf, createTenant, createTestUser, type Tenant } from './service.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

const TYPES = ['event.created', 'event.deleted', 'check_in.created'];

/** Creates applications, each with a webhook at a path of its own. */
export async function createSubscribers(
  service: { url: string },
  receiver: WebhookReceiver,
  count: number,
): Promise<Tenant[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, number) => {
      const tenant = await createTenant(service);
      const url = `${receiver.url}/${number}`;
      const { id: ownerId } = await createTestUser(service, { applicationIds: [tenant.id] });
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
async function findCommitted(sql: postgres.Sql): Promise<Set<string>> {
  const rows = await sql`
    select 'event.created ' || id as change from events
    union all select 'event.deleted ' || id from events where deleted_at is not null
    union all select 'check_in.created ' || attendee_id from check_ins`;
  return new Set(rows.map(({ change }) => change));
}

/** Returns the IDs of the messages that were received for each change. More than one is a second message. */
function findTold({ messages }: WebhookReceiver): Map<string, Set<string>> {
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
async function countPending(sql: postgres.Sql): Promise<number> {
  const [row] = await sql`select
    (select count(*) from webhook_messages where fanned_out_to is not null)::int
    + (select count(*) from webhook_deliveries where due_at is not null)::int as count`;
  return row?.count;
}

/**
 * Waits until nothing is pending, and compares. `mayComeAgain` is how many messages were in flight when their sender or
 * the database was killed.
 */
export async function judgeWhenTold(
  sql: postgres.Sql,
  receiver: WebhookReceiver,
  { acknowledged, mayComeAgain }: { acknowledged: ReadonlySet<string>; mayComeAgain: number },
) {
  await expect.poll(() => countPending(sql), { timeout: 120_000, interval: 250 }).toBe(0);
  const [told, committed] = [findTold(receiver), await findCommitted(sql)];
  const lost = [...new Set([...acknowledged, ...committed])].filter((change) => !told.has(change));
  const untrue = [...told.keys()].filter((change) => !committed.has(change));
  const twice = [...told].filter(([, ids]) => ids.size > 1);
  const [row] = await sql`select sum(attempt_count - 1)::int as retries,
    (count(*) filter (where status = 'failed'))::int as given_up from webhook_deliveries`;
  const attempts = receiver.messages.length;
  const duplicates = attempts - new Set(receiver.messages.map(({ id }) => id)).size;
  return {
    lost,
    untrue,
    twice,
    duplicates,
    givenUp: row?.given_up,
    mayComeAgain: mayComeAgain + row?.retries,
    summary: `${lost.length} of ${acknowledged.size} acknowledged changes; ${untrue.length} told that did not commit`,
    figures: `${duplicates} of ${attempts} attempts were repeated; ${mayComeAgain} were in flight at the kills, ${row?.retries} were retries`,
  };
}
