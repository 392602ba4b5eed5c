/**
 * The feed of an application is a row of `webhooks` without an owner and a URL, so that statements write its messages.
 * Fan-out gives it no deliveries: it gives each message its place in the feed instead.
 */
import { type SQL, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import { EVERY_TYPE } from './event-types.ts';

function feedIdOf(applicationId: SQL): SQL {
  return sql`('feed_' || ${applicationId}::text)`;
}

/**
 * Returns the CTEs that turn the feed on or off. A feed that is turned on has a new epoch: nobody has written its messages
 * while it was off. Parameters: now, feedEpoch.
 *
 * @param from a CTE with the column `message_feed`, without a row if the feed does not change
 */
export function storeMessageFeed(applicationId: SQL, from: SQL): SQL {
  const ofApplication = sql`application_id = ${applicationId}`;
  return sql`feed_removed as (
    delete from webhooks w using ${from} as given
    where w.${ofApplication} and w.id = ${feedIdOf(applicationId)} and not given.message_feed
  ), feed_stored as (
    insert into webhooks (application_id, id, url, signing_key, event_types, created_at, updated_at)
    select ${applicationId}, ${feedIdOf(applicationId)}, '', '', array[${sql`${EVERY_TYPE}`.inlineParams()}],
      ${p.instant('now')}, ${p.instant('now')}
    from ${from} as given where given.message_feed
    on conflict do nothing returning id
  ), feed_ended as (
    update message_feeds f set is_active = false from ${from} as given
    where f.${ofApplication} and not given.message_feed
  ), feed_begun as (
    insert into message_feeds (application_id, epoch, next_position, is_active)
    select ${applicationId}, ${p.uuid('feedEpoch')}, 1, true from feed_stored
    on conflict (application_id) do update set epoch = excluded.epoch, is_active = true
  )`;
}

/** Returns the CTEs that give the rows of `placed` (id, type, created_at, place) their positions. Parameter: applicationId. */
export const storePositions = sql`feed as (
    update message_feeds set next_position = next_position + (select count(*) from placed)
    where application_id = ${p.uuid('applicationId')} and is_active
    returning next_position - (select count(*) from placed) as first
  ), positions as (
    insert into feed_positions (application_id, position, message_id, type, created_at)
    select ${p.uuid('applicationId')}, feed.first + placed.place - 1, placed.id, placed.type, placed.created_at
    from placed cross join feed
  )`;
