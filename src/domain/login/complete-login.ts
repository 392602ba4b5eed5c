import { isIP } from 'node:net';
import { type SQL, sql } from 'drizzle-orm';
import { BY_POSTGRES, statementInstant } from '../../database/instants.ts';
import { applications, loginIntents } from '../../database/schema.ts';
import { columnsOf, p, type RowOfType, statement, t } from '../../database/template.ts';
import { addToQuery } from '../applications/redirect-uri.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, optional, text, textThat, type Unchecked, uuid } from '../core/validation.ts';
import { type SignInOrigin, shortenUserAgent } from '../sessions/browser.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { IMPERSONATION, type SignInMethod } from '../tokens/verify-token.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { isSameEmail, spellingsOf } from '../users/same-email.ts';
import { acceptInvitation, hasInvitation } from './accept-invitation.ts';
import { requireOpenIntent } from './login-intent.ts';

/** Accepts the longest header. `shortenUserAgent` cuts what is stored. */
const userAgentText = text({ max: 8_192, min: 0 });

const rules = {
  loginIntentId: uuid,
  userId: uuid,
  ipAddress: optional(textThat((text) => isIP(text) > 0, 'must be an IP address', { max: 64, format: 'ip-address' })),
  userAgent: optional(userAgentText),
  onBehalfBy: optional(identifier),
};

export interface Completion {
  /** Empty for a login of OpenID Connect, whose redirect URL carries a code instead. */
  readonly authToken: string;
  readonly redirectUrl: string;
  /** The sign-in, if the browser may remember it: the application shares sign-ins, and it was not a remembered one. */
  readonly signIn?: OwnSignIn | undefined;
  /** The `prompt` of the intent. `PASSKEYS` makes the page show the passkeys of the user after the sign-in. */
  readonly prompt?: string;
}

/** A sign-in in which the user has proved who they are, unlike one that continues a remembered sign-in. */
export interface OwnSignIn {
  readonly applicationId: string;
  readonly userId: string;
  readonly method: SignInMethod;
  readonly authenticatedAt: Date;
}

/**
 * Completes a login intent, once, and returns the auth token and the URL to which the browser is redirected. The
 * browser of a login page may ask for the same answer again.
 *
 * @throws ServiceError `Login intent not found`, `Login intent already completed`, `Login intent expired`; `User not
 * found`, also if the proved wallet or identity no longer belongs to the user; `Code no longer valid` instead if an
 * e-mail address was proved; `Sign-in not fresh` on behalf of a user if the application demands a fresh sign-in
 */
export async function completeLogin(
  call: Call,
  tokens: AuthTokens,
  request: Unchecked<keyof typeof rules>,
  { how: onPage, proved = {} }: OnLoginPage = {},
): Promise<Completion> {
  const { loginIntentId, userId, ipAddress, userAgent, onBehalfBy } = check(request, rules);
  const { email = null, walletAddress = null, issuer = null, subject = null } = proved;
  const { run, now } = call;
  const how = onPage ?? {
    method: onBehalfBy === null ? 'page' : IMPERSONATION,
    browserDigest: null,
    answerDigest: null,
    ...givenOrigin(ipAddress, userAgent),
  };
  const [intent] = await run(completeIntent, {
    ...BY_POSTGRES,
    ...how,
    authenticatedAt: how.authenticatedAt ?? null,
    loginIntentId,
    userId,
    now,
    ...spellingsOf(email),
    walletAddress,
    issuer,
    subject,
    onBehalfBy,
  });
  if (!intent) {
    const { prompt, maxAgeSeconds } = await requireOpenIntent(call, loginIntentId);
    if (onBehalfBy !== null && (prompt !== '' || maxAgeSeconds !== null)) throw new ServiceError('SIGN_IN_NOT_FRESH');
    throw new ServiceError(email === null ? 'USER_NOT_FOUND' : 'CODE_NOT_VALID');
  }
  call.count?.('sign_ins');
  if (intent.isInvited) await acceptInvitation(call, { ...intent, userId });
  // After a sign-in by e-mail, `rememberOrigin` does it.
  if (how.method !== 'email' && how.ipAddress !== null) await removeIfErased(call, userId);
  return answerLogin(tokens, { ...intent, loginIntentId, userId, method: how.method });
}

/** Returns the origin that a page other than Usher's has passed on. It may pass the address or the user agent alone. */
function givenOrigin(ipAddress: string | null, userAgent: string | null) {
  if (ipAddress === null && userAgent === null) return { ipAddress, userAgent };
  return { ipAddress: ipAddress ?? '', userAgent: shortenUserAgent(userAgent ?? '') };
}

/** Returns the answer to a completed login. Repeated calls return the same answer, except for an ECDSA signature. */
export async function answerLogin(tokens: AuthTokens, login: CompletedLogin): Promise<Completion> {
  const { redirectUri, state, applicationId, userId, method, completedAt, authenticatedAt, singleSignOn, prompt } =
    login;
  const signIn = { applicationId, userId, method, authenticatedAt: completedAt };
  const shared = { prompt, ...(singleSignOn && !authenticatedAt && { signIn }) };
  const protocol = tokens.protocolOf(login);
  if (protocol) return { authToken: '', redirectUrl: protocol.toCompletedUrl(login), ...shared };
  const authToken = await tokens.mint({
    ...login,
    authenticatedAt: authenticatedAt ?? completedAt,
    issuedAt: completedAt,
  });
  // RFC 9207: `iss` protects the application from mix-up attacks.
  const redirectUrl = addToQuery(redirectUri, { authToken, state, iss: tokens.issuer });
  return { authToken, redirectUrl, ...shared };
}

export interface HowSignedIn extends SignInOrigin {
  readonly method: SignInMethod;
  /** The instant of the sign-in, if it was at a provider before this login. */
  readonly authenticatedAt?: Date | null | undefined;
}

/** What only the login page passes. */
interface OnLoginPage {
  readonly how?: HowSignedIn;
  readonly proved?: Proved;
}

/** What the user has proved to have at this login. The login completes only if it still belongs to the user. */
export interface Proved {
  readonly email?: string | null;
  readonly walletAddress?: string | null;
  /** Identifies, with the subject, an identity at a provider. */
  readonly issuer?: string | null;
  readonly subject?: string | null;
}

/** The row of a login intent that a statement has just completed. */
export const COMPLETED_INTENT = {
  applicationId: loginIntents.applicationId,
  clientId: applications.clientId,
  singleSignOn: applications.singleSignOn,
  redirectUri: loginIntents.redirectUri,
  state: loginIntents.state,
  prompt: loginIntents.prompt,
  responseMode: loginIntents.responseMode,
  completedAt: t.instant,
  authenticatedAt: loginIntents.authenticatedAt,
  /** Whether the sign-in accepts an invitation. */
  isInvited: t.boolean,
};

/** The columns of `COMPLETED_INTENT` in the CTE `completed`. */
export const completedColumns = columnsOf(COMPLETED_INTENT);

interface CompletedLogin extends Omit<RowOfType<typeof COMPLETED_INTENT>, 'isInvited'> {
  readonly loginIntentId: string;
  readonly userId: string;
  readonly method: SignInMethod;
}

/**
 * The instant of a sign-in, later than every cut-off that the statement sees. A statement may begin before the
 * reactivation of a user and still see it: the cut-off of the reactivation would then end the sign-in at once.
 * Parameter: userId.
 */
export const laterThanCutoffs = sql`greatest(${statementInstant}, (
  select c.cutoff_at + interval '1 ms' from user_cutoffs c where c.user_id = ${p.uuid('userId')}))`;

/** The assignments of an update that stores a `SignInOrigin`. Parameters: all of `SignInOrigin`. */
export const originAssignments = sql`browser_digest = ${p.bytes('browserDigest')},
      answer_digest = ${p.bytes('answerDigest')}, ip_address = ${p.text('ipAddress')}, user_agent = ${p.text('userAgent')}`;

const completeIntent = statement('complete_login_intent', COMPLETED_INTENT)`
  with ${completedIntent({
    condition: sql`(${p.text('onBehalfBy')}::text is null or i.prompt = '' and i.max_age_seconds is null) and exists (
      select 1 from users u
      where u.id = ${p.uuid('userId')} and u.deleted_at is null and u.deactivated_at is null
        and (${p.texts('emails')} is null or ${isSameEmail(sql`u.email`)})
        and (${p.text('walletAddress')} is null or lower(u.wallet_address) = lower(${p.text('walletAddress')}))
        and (${p.text('issuer')} is null or exists (
          select 1 from user_identities d
          where d.issuer = ${p.text('issuer')} and d.subject = ${p.text('subject')} and d.user_id = u.id)))`,
    completedAt: laterThanCutoffs,
    authenticatedAt: p.instant('authenticatedAt'),
    onBehalfBy: p.text('onBehalfBy'),
  })}
  select ${completedColumns} from completed`;

/**
 * Returns two CTEs: `completed` completes an open intent of an existing application if the condition holds, and `audit`
 * records that. `completedAt` is an instant of Postgres, because cut-offs are, with which it is compared.
 * Parameters: all of `HowSignedIn`, loginIntentId, userId, now, instant.
 */
export function completedIntent({
  condition,
  completedAt = statementInstant,
  authenticatedAt = sql`i.authenticated_at`,
  assurance = sql`1`,
  passkeyId = sql`null`,
  onBehalfBy,
}: {
  condition: SQL;
  completedAt?: SQL;
  authenticatedAt?: SQL;
  assurance?: SQL;
  passkeyId?: SQL;
  onBehalfBy?: SQL;
}): SQL {
  const audit = {
    resource: p.uuid('userId'),
    from: sql`completed`,
    applicationId: sql`application_id`,
    ...(onBehalfBy && { onBehalfBy }),
  };
  return sql`completed as (
    update login_intents i
    set completed_at = ${completedAt}, authenticated_at = ${authenticatedAt}, user_id = ${p.uuid('userId')},
      method = ${p.text('method')}, assurance = ${assurance}, passkey_id = ${passkeyId},
      ${originAssignments}${onBehalfBy ? sql`, on_behalf_by = ${onBehalfBy}` : sql``}
    from applications a
    where i.id = ${p.uuid('loginIntentId')} and i.completed_at is null and i.expires_at > ${p.instant('now')}
      and a.id = i.application_id and a.deleted_at is null and ${condition}
    returning i.application_id, i.redirect_uri, i.state, i.prompt, i.response_mode, i.completed_at, i.authenticated_at,
      a.client_id, a.single_sign_on, ${hasInvitation} as is_invited
  ), ${auditEvent(audit)}`;
}
