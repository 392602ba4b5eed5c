/** Changes of applications that have webhooks, to compare what was acknowledged, committed and delivered. */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type postgres from 'postgres';
import { expect } from 'vitest';
import type { ReceivedMessage, WebhookReceiver } from '../../src/testing/webhook-receiver.ts';
import { countUnrecorded } from './lease-log.ts';
import { clientsOf, createTenant, createTestUser, type Tenant } from './service.ts';

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

/** How often each message may come once more without a recorded attempt. */
export class AllowedRepeats {
  readonly #counts = new Map<string, number>();
  #settled: ReadonlySet<string> = new Set();

  /**
   * Call it before a fault that may cost the records of attempts. Whatever is not settled by then may come once more:
   * whether it was in flight is not asked, because it may be received and sent again before anyone could look.
   */
  async beginFault(sql: postgres.Sql): Promise<void> {
    const rows = await sql`select message_id::text as id from webhook_deliveries where due_at is null`;
    this.#settled = new Set(rows.map(({ id }) => id));
  }

  /** Call it when the fault is over: what did not exist by then has not suffered. */
  async endFault(sql: postgres.Sql): Promise<void> {
    for (const { id } of await sql`select message_id::text as id from webhook_deliveries`) {
      if (!this.#settled.has(id)) this.#add(id);
    }
  }

  /** Closes the connection without an answer. On a kept connection, the same attempt sends the message again. */
  hangUp({ headers }: ReceivedMessage, response: ServerResponse): void {
    response.destroy();
    this.#add(String(headers['webhook-sequence']));
  }

  of(id: string): number {
    return this.#counts.get(id) ?? 0;
  }

  #add(id: string): void {
    this.#counts.set(id, this.of(id) + 1);
  }
}

/**
 * Returns the messages that came more often than their recorded attempts, these repeats and leases that ended allow.
 * Needs `watchLeases`.
 */
async function findRepeated(sql: postgres.Sql, { messages }: WebhookReceiver, allowed: AllowedRepeats) {
  const times = new Map<string, number>();
  for (const { headers } of messages) {
    const id = String(headers['webhook-sequence']);
    times.set(id, (times.get(id) ?? 0) + 1);
  }
  const rows = await sql`select message_id::text as id, attempt_count from webhook_deliveries`;
  const unrecorded = await countUnrecorded(sql);
  const countAllowed = (id: string) => allowed.of(id) + (unrecorded.get(id) ?? 0);
  return rows.filter(({ id, attempt_count }) => (times.get(id) ?? 0) > attempt_count + countAllowed(id));
}

/** Returns how many messages are not yet fanned out or delivered. */
async function countPending(sql: postgres.Sql): Promise<number> {
  const [row] = await sql`select
    (select count(*) from webhook_messages where fanned_out_to is not null)::int
    + (select count(*) from webhook_deliveries where due_at is not null)::int as count`;
  return row?.count;
}

/** Waits until nothing is pending, and compares. */
export async function judgeWhenTold(
  sql: postgres.Sql,
  receiver: WebhookReceiver,
  { acknowledged, allowed }: { acknowledged: ReadonlySet<string>; allowed: AllowedRepeats },
) {
  await expect.poll(() => countPending(sql), { timeout: 120_000, interval: 250 }).toBe(0);
  const [told, committed] = [findTold(receiver), await findCommitted(sql)];
  const lost = [...new Set([...acknowledged, ...committed])].filter((change) => !told.has(change));
  const untrue = [...told.keys()].filter((change) => !committed.has(change));
  const twice = [...told].filter(([, ids]) => ids.size > 1);
  const repeated = await findRepeated(sql, receiver, allowed);
  const [row] = await sql`select sum(attempt_count - 1)::int as retries,
    (count(*) filter (where status = 'failed'))::int as given_up from webhook_deliveries`;
  const attempts = receiver.messages.length;
  const duplicates = attempts - new Set(receiver.messages.map(({ id }) => id)).size;
  return {
    lost,
    untrue,
    twice,
    repeated,
    givenUp: row?.given_up,
    summary: `${lost.length} of ${acknowledged.size} acknowledged changes; ${untrue.length} told that did not commit`,
    figures: `${duplicates} of ${attempts} attempts were repeated, ${row?.retries} of them as retries`,
  };
}
