/** Leases of webhooks that ended although no process was killed: on a busy machine, their holder extends them too late. */
import type postgres from 'postgres';
import { QUEUE_LEASE_MS } from '../../src/delivery/leases.ts';

/**
 * The holder aborts its attempts 2 s before the end of its lease, and does not record them. One second more is for
 * clocks that differ.
 */
const HELD_SECONDS = (QUEUE_LEASE_MS - 3_000) / 1_000;

/** Records every claim from now on, and the messages that a lease may have left without a recorded attempt. */
export async function watchLeases(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(`
    create schema lease_log;
    create table lease_log.claims (webhook_id text, lease uuid primary key, began_at timestamptz);
    create table lease_log.unrecorded (message_id bigint);
    create function lease_log.note_queue() returns trigger language plpgsql as $$ begin
      insert into lease_log.unrecorded
        select message_id from usher.webhook_deliveries
        where webhook_id = old.webhook_id and due_at is not null and exists (
          select from lease_log.claims
          where lease = old.lease and began_at < clock_timestamp() - interval '${HELD_SECONDS} s');
      if new.lease is not null then
        insert into lease_log.claims values (new.webhook_id, new.lease, clock_timestamp());
      end if;
      return null;
    end $$;
    create function lease_log.note_slow_delivery() returns trigger language plpgsql as $$ begin
      insert into lease_log.unrecorded values (old.message_id);
      return null;
    end $$;
    create trigger note_queue after update on usher.webhook_queues for each row
      when (new.lease is distinct from old.lease) execute function lease_log.note_queue();
    create trigger note_slow_delivery after update on usher.webhook_deliveries for each row
      when (new.lease_end is distinct from old.lease_end
        and old.lease_end - interval '${QUEUE_LEASE_MS / 1_000 - HELD_SECONDS} s' < clock_timestamp())
      execute function lease_log.note_slow_delivery()`);
}

/** Returns how often processes have claimed the queue of the webhook. */
export async function countClaims(sql: postgres.Sql, webhookId: string): Promise<number> {
  const [row] = await sql`select count(*)::int as count from lease_log.claims where webhook_id = ${webhookId}`;
  return row?.count;
}

/** Returns for each message how often it may have come without a recorded attempt, because a lease had ended. */
export async function countUnrecorded(sql: postgres.Sql): Promise<Map<string, number>> {
  const rows = await sql`select message_id::text as id, count(*)::int as count from lease_log.unrecorded group by 1`;
  return new Map(rows.map(({ id, count }) => [id, count]));
}
