import { createHash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { loginIntents } from '../../database/schema.ts';
import { p, type RowOfType, statement, t } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import type { SignInMethod } from '../login/verify-token.ts';
import { toUuid } from '../uuid-bytes.ts';
import { CODE_LIFETIME_MS } from './authorization-answer.ts';
import { readCode } from './code.ts';
import { OidcError } from './oidc-error.ts';
import { challengeOf } from './pkce.ts';
import type { SealKeys } from './sealed-bytes.ts';

export interface CodeRequest {
  readonly code: string;
  readonly redirectUri: string;
  readonly codeVerifier: string | undefined;
}

export interface RedeemedLogin extends RowOfType<typeof REDEEMED> {
  readonly loginIntentId: string;
  readonly sid: string;
}

/**
 * Returns the parameters of `redeemedIntent`.
 *
 * @throws OidcError `invalid_grant` if the code is not one of Usher, or the verifier is malformed
 */
export function readCodeRequest(
  { application, now }: ApplicationCall,
  keys: SealKeys,
  { code, redirectUri, codeVerifier }: CodeRequest,
) {
  const loginIntentId = readCode(keys, code);
  const codeChallenge = codeVerifier === undefined ? null : challengeOf(codeVerifier);
  if (!loginIntentId || codeChallenge === undefined) throw new OidcError('invalid_grant');
  const completedAfter = new Date(now.getTime() - CODE_LIFETIME_MS);
  return { loginIntentId, applicationId: application.id, redirectUri, codeChallenge, now, completedAfter };
}

/**
 * Redeems a code, once.
 *
 * @throws OidcError `invalid_grant` for every reason
 */
export async function redeemCode(
  { application, run }: ApplicationCall,
  request: ReturnType<typeof readCodeRequest>,
): Promise<RedeemedLogin> {
  const [redeemed] = await run(redeem, request);
  if (!redeemed) throw new OidcError('invalid_grant');
  const { loginIntentId } = request;
  const { originBrowser, userId } = redeemed;
  // There is no browser digest if the user signed in on a page other than Usher's.
  const sid = originBrowser ? sidOf(application.id, userId, originBrowser) : loginIntentId;
  return { ...redeemed, loginIntentId, sid };
}

/**
 * Returns an identifier of a browser that differs for every application and user, so that nobody can correlate
 * browsers.
 */
export function sidOf(applicationId: string, userId: string, browserDigest: Buffer): string {
  const digest = createHash('sha256').update(`${applicationId}/${userId}/`).update(browserDigest).digest();
  return toUuid(digest.subarray(0, 16));
}

const REDEEMED = {
  userId: t.uuid,
  method: t.textOf<SignInMethod>(),
  authenticatedAt: t.instant,
  scope: t.integer,
  nonce: loginIntents.nonce,
  originAddress: loginIntents.ipAddress,
  originUserAgent: loginIntents.userAgent,
  originBrowser: loginIntents.browserDigest,
};

/**
 * The CTE `redeemed`. One update has all conditions: a wrong verifier does not use up the code, and only one of two
 * concurrent requests succeeds. `is not distinct from` refuses a request without a verifier if the login began with a
 * challenge, and the reverse.
 */
export const redeemedIntent = sql`redeemed as (
    update login_intents set redeemed_at = ${p.instant('now')}
    where id = ${p.uuid('loginIntentId')} and application_id = ${p.uuid('applicationId')} and response_mode <> ''
      and redeemed_at is null and completed_at > ${p.instant('completedAfter')}
      and redirect_uri = ${p.text('redirectUri')} and code_challenge is not distinct from ${p.bytes('codeChallenge')}
    returning user_id, method, coalesce(authenticated_at, completed_at) as authenticated_at, scope::integer, nonce,
      browser_digest as origin_browser, ip_address as origin_address, user_agent as origin_user_agent
  )`;

const redeem = statement('redeem_code', REDEEMED)`
  with ${redeemedIntent}, ${auditEvent({ resource: sql`user_id`, from: sql`redeemed` })}
  select * from redeemed`;
