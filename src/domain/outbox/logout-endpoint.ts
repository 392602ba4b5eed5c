/**
 * The endpoint of an application for back-channel logout is a row of `webhooks`. So it has a queue and retries, and is
 * disabled when it fails for days. It has no owner, so ListWebhooks omits it. Its ID is no valid webhook ID, so no call
 * finds it. Operators see it in the console if it fails or is disabled.
 */
import { type SQL, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import { LOGOUT } from './event-types.ts';
import { logoutEndpointId } from './insert-message.ts';
import { wakeQueues } from './wake-queue.ts';

/** Returns the insert of the endpoint. `from` has the column `url`, null if the application has no endpoint. */
export function insertLogoutEndpoint(applicationId: SQL, from: SQL): SQL {
  return sql`
    insert into webhooks as w (application_id, id, url, signing_key, event_types, created_at, updated_at)
    select ${applicationId}, ${logoutEndpointId(applicationId)}, url, '', array[${sql`${LOGOUT}`.inlineParams()}],
      ${p.instant('now')}, ${p.instant('now')}
    from ${from} where url is not null`;
}

/**
 * Returns the CTEs `removed`, `stored` and `woken`, which store the endpoint, or remove it if there is none. A disabled
 * endpoint becomes active. A removal does not see the row of a concurrent change. Such an endpoint gets no messages,
 * because the application has none.
 *
 * @param from a CTE like that of `insertLogoutEndpoint`, without a row if the endpoint does not change
 */
export function storeLogoutEndpoint(from: SQL): SQL {
  const applicationId = p.uuid('applicationId');
  return sql`removed as (
    delete from webhooks w using ${from} as given
    where w.application_id = ${applicationId} and w.id = ${logoutEndpointId(applicationId)} and given.url is null
  ), stored as (${insertLogoutEndpoint(applicationId, from)}
    on conflict (application_id, id) do update set
      url = excluded.url, is_active = true, disabled_reason = null, updated_at = excluded.updated_at
    where w.url <> excluded.url or not w.is_active
    returning w.id as webhook_id
  ), ${wakeQueues(sql`stored`)}`;
}
