/**
 * The endpoint of an application for back-channel logout is a row of `webhooks`. So it has a queue and retries, and is
 * disabled when it fails for days. It has no owner, so ListWebhooks omits it. Its ID is no valid webhook ID, so no call
 * finds it. Operators see it in the console if it fails or is disabled.
 */
import { type SQL, sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { LOGOUT } from './event-types.ts';
import { logoutEndpointId } from './insert-message.ts';
import { wakeQueues } from './wake-queue.ts';

/**
 * Stores the current endpoint of the application, or removes it if there is none. A disabled endpoint becomes active.
 */
export async function storeLogoutEndpoint({ run, now, onMessage }: Call, applicationId: string): Promise<void> {
  const [stored] = await run(upsertLogoutEndpoint, { applicationId, now });
  if (stored) onMessage?.(applicationId);
}

/** Returns the insert of the endpoint. `from` has the column `url`, null if the application has no endpoint. */
export function insertLogoutEndpoint(applicationId: SQL, from: SQL): SQL {
  return sql`
    insert into webhooks as w (application_id, id, url, signing_key, event_types, created_at, updated_at)
    select ${applicationId}, ${logoutEndpointId(applicationId)}, url, '', array[${sql`${LOGOUT}`.inlineParams()}],
      ${p.instant('now')}, ${p.instant('now')}
    from ${from} where url is not null`;
}

const endpointId = logoutEndpointId(p.uuid('applicationId'));

const upsertLogoutEndpoint = statement('upsert_logout_endpoint', { webhookId: t.text })`
  with application as (
    -- Locked, so that the later of two concurrent changes reads the final URL.
    select id, backchannel_logout_uri as url from applications
    where id = ${p.uuid('applicationId')} and deleted_at is null for no key update
  ), removed as (
    delete from webhooks w using application a
    where w.application_id = ${p.uuid('applicationId')} and w.id = ${endpointId} and a.url is null
  ), stored as (${insertLogoutEndpoint(p.uuid('applicationId'), sql`application`)}
    on conflict (application_id, id) do update set
      url = excluded.url, is_active = true, disabled_reason = null, updated_at = excluded.updated_at
    where w.url <> excluded.url or not w.is_active
    returning w.id as webhook_id
  ), ${wakeQueues(sql`stored`)}
  select webhook_id from stored`;
