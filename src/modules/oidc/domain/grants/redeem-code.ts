import { hash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { loginIntents } from '../../../../database/schema/intent-schema.ts';
import { nullable, p, type RowOfType, statement, t } from '../../../../database/sql/template.ts';
import { auditEvent } from '../../../../domain/audit/audit-event.ts';
import { ONE_FACTOR } from '../../../../domain/core/assurance.ts';
import type { Application, ApplicationCall } from '../../../../domain/core/call.ts';
import { sidOf } from '../../../../domain/sessions/sid.ts';
import type { SignInMethod } from '../../../../domain/tokens/verify-token.ts';
import { CODE_LIFETIME_MS } from '../authorization/authorization-answer.ts';
import { OidcError } from '../oidc-error.ts';
import { readCode } from '../tokens/code.ts';
import type { SealKeys } from '../tokens/sealed-bytes.ts';

export interface CodeRequest {
  readonly code: string;
  /** Only a client that uses PKCE may leave it out. */
  readonly redirectUri: string | undefined;
  readonly codeVerifier: string | undefined;
}

/** A call of a client that gets tokens. */
export interface CodeCall extends ApplicationCall {
  /** The client ID, if `application` is not the client, but the resource of its tokens. */
  readonly forClient: string | null;
  /** The application with this client ID. Undefined if nobody has registered the client. */
  readonly client?: Application | undefined;
}

export interface RedeemedLogin extends RowOfType<typeof REDEEMED> {
  readonly loginIntentId: string;
  readonly sid: string;
}

/**
 * Returns the parameters of `redeemedIntent`.
 *
 * @throws OidcError `invalid_grant` if the code is not one of Usher, or the verifier is malformed; `invalid_target` if it
 * is for another resource
 */
export function readCodeRequest(
  { application, forClient, now }: CodeCall,
  keys: SealKeys,
  { code, redirectUri, codeVerifier }: CodeRequest,
) {
  const { loginIntentId, resourceId } = readCode(keys, code) ?? {};
  const codeChallenge = codeVerifier === undefined ? null : challengeOf(codeVerifier);
  if (!loginIntentId || codeChallenge === undefined) throw new OidcError('invalid_grant');
  if (resourceId !== (forClient === null ? undefined : application.id)) throw new OidcError('invalid_target');
  const completedAfter = new Date(now.getTime() - CODE_LIFETIME_MS);
  const login = { loginIntentId, applicationId: application.id, forClient };
  const requiredAssurance = application.requiredAssurance ?? ONE_FACTOR;
  return { ...login, redirectUri: redirectUri ?? null, codeChallenge, now, completedAfter, requiredAssurance };
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

/** What a statement that redeems a login returns of it, with `redeemedColumns`. */
export const REDEEMED = {
  userId: t.uuid,
  method: t.textOf<SignInMethod>(),
  assurance: t.integer,
  authenticatedAt: t.instant,
  scope: t.integer,
  nonce: loginIntents.nonce,
  originAddress: loginIntents.ipAddress,
  originUserAgent: loginIntents.userAgent,
  originBrowser: loginIntents.browserDigest,
  onBehalfBy: loginIntents.onBehalfBy,
  // Of a login that the client of a resource has begun.
  forClient: nullable(t.text),
  clientName: loginIntents.clientName,
  needsConsent: t.boolean,
  scopeNames: loginIntents.scopeNames,
};

export const redeemedColumns = sql`user_id, method, coalesce(assurance, 1)::integer as assurance,
      coalesce(authenticated_at, completed_at) as authenticated_at, scope::integer, nonce,
      browser_digest as origin_browser, ip_address as origin_address, user_agent as origin_user_agent, on_behalf_by,
      client_id as for_client, client_name, scope_names,
      client_name is not null and redirect_uri like 'https:%' as needs_consent`;

/**
 * The CTE `redeemed`. One update has all conditions: a wrong verifier does not use up the code, and only one of two
 * concurrent requests succeeds. `is not distinct from` refuses a request without a verifier if the login began with a
 * challenge, and the reverse. A redirect URI that comes must be the one of the login. A client that nobody has registered gets nothing before the user has consented.
 */
export const redeemedIntent = sql`redeemed as (
    update login_intents set redeemed_at = ${p.instant('now')}
    where id = ${p.uuid('loginIntentId')} and application_id = ${p.uuid('applicationId')} and response_mode <> ''
      and redeemed_at is null and client_id is not distinct from ${p.text('forClient')}
      and case when client_name is null then completed_at else consented_at end > ${p.instant('completedAfter')}
      and redirect_uri = coalesce(${p.text('redirectUri')}, redirect_uri)
      and code_challenge is not distinct from ${p.bytes('codeChallenge')}
      and coalesce(assurance, 1) >= ${p.integer('requiredAssurance')}
    returning ${redeemedColumns}
  )`;

const redeem = statement('redeem_code', REDEEMED)`
  with ${redeemedIntent}, ${auditEvent({ resource: sql`user_id`, from: sql`redeemed` })}
  select * from redeemed`;

/** Proof Key for Code Exchange (RFC 7636), method S256. */
const VERIFIER = /^[\w.~-]{43,128}$/;

/** Returns the challenge of a verifier, or undefined if the verifier is malformed (section 4.1). */
function challengeOf(verifier: string): Buffer | undefined {
  return VERIFIER.test(verifier) ? hash('sha256', verifier, 'buffer') : undefined;
}
