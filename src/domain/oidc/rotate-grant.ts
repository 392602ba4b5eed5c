import { sql } from 'drizzle-orm';
import { oidcGrants } from '../../database/oidc-schema.ts';
import { p, statement, t } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { LONG_AGO } from './end-grants.ts';
import { OidcError } from './oidc-error.ts';
import type { RefreshToken } from './refresh-token.ts';

/** How long a replaced token still gets the same successor, because the reply may have been lost. */
const OVERLAP_MS = 30_000;

/**
 * Replaces the refresh token of a public client, and returns the number of its successor. For 30 seconds, the token
 * that was replaced last gets the same successor. Any other use of a replaced token ends the grant: that token or its
 * successor was stolen.
 *
 * @throws OidcError `invalid_grant`
 */
export async function rotateGrant(
  { run, now }: ApplicationCall,
  { applicationId, grantId, rotation }: RefreshToken,
): Promise<number> {
  const rotatedAfter = new Date(now.getTime() - OVERLAP_MS);
  const [rotated] = await run(rotate, { applicationId, grantId, rotation, rotatedAfter, now });
  if (!rotated?.isLive) throw new OidcError('invalid_grant');
  return rotated.rotation;
}

const isLatest = sql`rotation = ${p.integer('rotation')}`;
const isReplacedLast = sql`rotation = ${p.integer('rotation')} + 1 and rotated_at > ${p.instant('rotatedAfter')}`;

/**
 * Concurrent requests with one token wait for the row lock: the first replaces the token, the others get its successor.
 */
const rotate = statement('rotate_oidc_grant', {
  userId: oidcGrants.userId,
  rotation: oidcGrants.rotation,
  isLive: t.boolean,
})`
  with rotated as (
    update oidc_grants set
      rotation = case when ${isLatest} then rotation + 1 else rotation end,
      rotated_at = case when ${isLatest} then ${p.instant('now')} else rotated_at end,
      expires_at = case when ${isLatest} or ${isReplacedLast} then expires_at else ${LONG_AGO} end
    where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('grantId')} and expires_at > ${p.instant('now')}
    returning user_id, rotation, expires_at > ${p.instant('now')} as is_live
  ), ${auditEvent({ resource: sql`user_id`, from: sql`rotated where not is_live` })}
  select user_id, rotation, is_live from rotated`;
