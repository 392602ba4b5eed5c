import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';

const rules = { apiKeyId: uuid };

/** Revokes an API key. @throws ServiceError `API key not found`, also if it was revoked before */
export async function revokeApiKey({ run, now }: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { apiKeyId } = check(request, rules);
  const [revoked] = await run(markRevoked, { apiKeyId, now });
  if (!revoked) throw new ServiceError('API_KEY_NOT_FOUND');
}

const markRevoked = statement('mark_api_key_revoked')`
  with revoked as (
    update api_keys set revoked_at = ${p.instant('now')}
    where id = ${p.uuid('apiKeyId')} and revoked_at is null
    returning id, application_id
  ), ${auditEvent({ resource: sql`id`, from: sql`revoked`, applicationId: sql`application_id` })}
  select from revoked`;
