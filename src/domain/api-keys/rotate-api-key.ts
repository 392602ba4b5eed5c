import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { newApiKey } from '../applications/api-key.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { requireUnmanaged } from '../core/managed-by-file.ts';
import { check, integer, orDefault, type Unchecked, uuid } from '../core/validation.ts';
import { isManagedKey } from './managed-key.ts';

const DAY_SECONDS = 24 * 60 * 60;
const rules = {
  apiKeyId: uuid,
  overlapSeconds: orDefault(integer({ min: 0, max: 7 * DAY_SECONDS }), DAY_SECONDS),
};

/**
 * Replaces an API key by a new one with the same name, use and expiry. The old key works until the overlap ends, or
 * until its own expiry if that is earlier.
 *
 * @throws ServiceError `API key not found`, also if it is revoked or expired; `API key already replaced`; `Managed by file`
 */
export async function rotateApiKey(
  { run, now }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<{ apiKeyId: string; apiKey: string }> {
  const { apiKeyId: oldId, overlapSeconds } = check(request, rules);
  const { apiKey, apiKeyId, digest } = newApiKey();
  const endsAt = new Date(now.getTime() + overlapSeconds * 1_000);
  const [created] = await run(replaceApiKey, { oldId, apiKeyId, digest, now, endsAt });
  if (created) return { apiKeyId, apiKey };
  const [found] = await run(selectReplaced, { oldId });
  if (!found) throw new ServiceError('API_KEY_NOT_FOUND');
  requireUnmanaged(found);

  throw new ServiceError(found.isReplaced ? 'API_KEY_REPLACED' : 'API_KEY_NOT_FOUND');
}

const replaceApiKey = statement('replace_api_key')`
  with old as (
    -- Locked, so that only one of several concurrent rotations succeeds.
    select k.application_id, k.id, k.name, k.expires_at, k.use
    from api_keys k join applications a on a.id = k.application_id and a.deleted_at is null
    where k.id = ${p.uuid('oldId')} and k.revoked_at is null and k.replaced_by is null
      and (k.expires_at is null or k.expires_at > ${p.instant('now')}) and not ${isManagedKey}
    for update of k
  ), replaced as (
    update api_keys k
    set expires_at = least(k.expires_at, ${p.instant('endsAt')}), replaced_by = ${p.uuid('apiKeyId')}
    from old where k.id = old.id
    returning k.id, k.application_id
  ), ${auditEvent({ resource: sql`id`, from: sql`replaced`, applicationId: sql`application_id` })}
  insert into api_keys (application_id, id, digest, created_at, name, expires_at, use)
  select application_id, ${p.uuid('apiKeyId')}, ${p.bytes('digest')}, ${p.instant('now')}, name, expires_at, use from old
  returning 1 as created`;

const selectReplaced = statement('select_replaced_api_key', { isManaged: t.boolean, isReplaced: t.boolean })`
  select ${isManagedKey} as is_managed, k.replaced_by is not null as is_replaced
  from api_keys k join applications a on a.id = k.application_id and a.deleted_at is null
  where k.id = ${p.uuid('oldId')} and k.revoked_at is null`;
