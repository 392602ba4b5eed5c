import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { requireUnmanaged } from '../core/managed-by-file.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { isManagedKey } from './managed-key.ts';

const rules = { apiKeyId: uuid };

/** Revokes an API key. @throws ServiceError `API key not found`, also if it was revoked before; `Managed by file` */
export async function revokeApiKey({ run, now }: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { apiKeyId } = check(request, rules);
  const [found] = await run(markRevoked, { apiKeyId, now });
  if (!found) throw new ServiceError('API_KEY_NOT_FOUND');
  requireUnmanaged(found);
}

const markRevoked = statement('mark_api_key_revoked', { isManaged: t.boolean })`
  with found as (
    select k.id, k.application_id, ${isManagedKey} as is_managed
    from api_keys k join applications a on a.id = k.application_id
    where k.id = ${p.uuid('apiKeyId')} and k.revoked_at is null for no key update of k
  ), revoked as (
    update api_keys k set revoked_at = ${p.instant('now')}
    from found where k.id = found.id and not found.is_managed
    returning k.id, k.application_id
  ), ${auditEvent({ resource: sql`id`, from: sql`revoked`, applicationId: sql`application_id` })}
  select is_managed from found`;
