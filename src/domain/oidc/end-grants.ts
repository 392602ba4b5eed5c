/** Ends grants: their tokens, but no other sign-in of the user to the application. */
import { type SQL, sql } from 'drizzle-orm';
import { oidcGrants } from '../../database/oidc-schema.ts';
import { p, statement } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';

const rules = { applicationId: uuid, grantId: uuid };

/**
 * Ends a grant and returns its user. One that has ended stays so.
 *
 * @param userId if given, the grant must be that user's
 * @throws ServiceError `Grant not found`
 */
export async function endGrant(
  { run, now }: Call,
  request: Unchecked<keyof typeof rules>,
  userId: string | null = null,
): Promise<string> {
  const [ended] = await run(endOne, { ...check(request, rules), userId, now });
  if (!ended) throw new ServiceError('GRANT_NOT_FOUND');
  return ended.userId;
}

const endOne = statement('end_oidc_grant', { userId: oidcGrants.userId })`${end(
  sql`id = ${p.uuid('grantId')} and (${p.uuid('userId')} is null or user_id = ${p.uuid('userId')})`,
)}`;

function end(condition: SQL): SQL {
  return sql`
    with ended as (
      update oidc_grants set expires_at = ${p.instant('now')}
      where application_id = ${p.uuid('applicationId')} and expires_at > ${p.instant('now')} and ${condition}
      returning user_id
    ), target as (
      select distinct user_id from ended
    ), ${auditEvent({ resource: sql`user_id`, from: sql`target` })}
    select user_id from target`;
}
