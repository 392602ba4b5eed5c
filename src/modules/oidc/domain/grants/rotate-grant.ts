import { sql } from 'drizzle-orm';
import { oidcGrants } from '../../../../database/schema/oidc-schema.ts';
import { p, statement } from '../../../../database/sql/template.ts';
import { endGrant } from '../../../../domain/grants/end-grants.ts';
import { isConsented } from '../authorization/consent.ts';
import { OidcError } from '../oidc-error.ts';
import type { RefreshToken } from '../tokens/refresh-token.ts';
import type { CodeCall } from './redeem-code.ts';

/** How long a replaced token still gets the same successor, because the reply may have been lost. */
const OVERLAP_MS = 30_000;

/**
 * Replaces the refresh token of a public client, and returns the number of its successor. For 30 seconds, the token
 * that was replaced last gets the same successor. Any other use of a replaced token ends the grant: that token or its
 * successor was stolen. So does a use after the user has taken back the consent.
 *
 * @throws OidcError `invalid_grant`
 */
export async function rotateGrant(call: CodeCall, { applicationId, grantId, rotation }: RefreshToken): Promise<number> {
  const { run, now, forClient } = call;
  const rotatedAfter = new Date(now.getTime() - OVERLAP_MS);
  const [rotated] = await run(rotate, { applicationId, grantId, rotation, rotatedAfter, now, forClient });
  if (rotated) return rotated.rotation;
  // A request that Postgres runs late may have arrived before its token was replaced.
  await endGrant(call, { grantId }, { rotatedBefore: now });
  throw new OidcError('invalid_grant');
}

const isLatest = sql`rotation = ${p.integer('rotation')}`;
const isReplacedLast = sql`rotation = ${p.integer('rotation')} + 1 and rotated_at > ${p.instant('rotatedAfter')}`;

/**
 * Concurrent requests with one token wait for the row lock: the first replaces the token, the others get its successor.
 */
const rotate = statement('rotate_oidc_grant', { rotation: oidcGrants.rotation })`
  update oidc_grants set
    rotation = case when ${isLatest} then rotation + 1 else rotation end,
    rotated_at = case when ${isLatest} then ${p.instant('now')} else rotated_at end
  where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('grantId')} and expires_at > ${p.instant('now')}
    and (${isLatest} or ${isReplacedLast}) and client_id is not distinct from ${p.text('forClient')}
    and (not needs_consent or ${isConsented})
  returning rotation`;
