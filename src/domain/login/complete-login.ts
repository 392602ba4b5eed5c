import { isIP } from 'node:net';
import { type SQL, sql } from 'drizzle-orm';
import { BY_POSTGRES } from '../../database/sql/instants.ts';
import { p, type RowOfType, statement } from '../../database/sql/template.ts';
import { accessByCtes } from '../access/has-access.ts';
import { addToQuery } from '../applications/redirect-uri.ts';
import { ONE_FACTOR, PHISHING_RESISTANT } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, identifier, integer, optional, text, textThat, type Unchecked, uuid } from '../core/validation.ts';
import { type SignInOrigin, shortenUserAgent } from '../sessions/browser.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { IMPERSONATION, type SignInMethod } from '../tokens/verify-token.ts';
import { spellingsOf } from '../users/find-user-by-email.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { acceptInvitation, noteEntryOnBehalf } from './accept-invitation.ts';
import { COMPLETED_INTENT, completedIntent, laterThanCutoffs } from './completed-intent.ts';
import { holdSignIn } from './held-sign-in.ts';
import type { LoginCodeSettings } from './login-code.ts';
import { requireOpenIntent } from './login-intent.ts';
import { isProvedUser, isUserById, type ProofParameters, type Proved, requireAccess } from './proved-user.ts';
import { attemptReasonOf, provingUser, recordAttempt } from './record-attempt.ts';

/** Accepts the longest header. `shortenUserAgent` cuts what is stored. */
const userAgentText = text({ max: 8_192, min: 0 });

const rules = {
  loginIntentId: uuid,
  userId: uuid,
  ipAddress: optional(textThat((text) => isIP(text) > 0, 'must be an IP address', { max: 64, format: 'ip-address' })),
  userAgent: optional(userAgentText),
  onBehalfBy: optional(identifier),
  assurance: optional(integer({ min: ONE_FACTOR, max: PHISHING_RESISTANT })),
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
  readonly assurance: number;
  readonly authenticatedAt: Date;
}

/**
 * Completes a login intent, once, and returns the auth token and the URL to which the browser is redirected. The
 * browser of a login page may ask for the same answer again.
 *
 * @throws ServiceError `Login intent not found`, `Login intent already completed`, `Login intent expired`; `User not
 * found`, also if the proved wallet or identity no longer belongs to the user; `Code no longer valid` instead if an
 * e-mail address was proved; `Sign-in not fresh` on behalf of a user if the application demands a fresh sign-in; `Access
 * not allowed` if the application is restricted and nobody has let the user in; `Assurance not met` if the login demands
 * more; `Second factor needed` if the sign-in is held
 */
export async function completeLogin(
  call: Call,
  tokens: AuthTokens,
  request: Unchecked<keyof typeof rules>,
  { how: onPage, proved }: OnLoginPage = {},
): Promise<Completion> {
  const { loginIntentId, userId, ipAddress, userAgent, onBehalfBy, ...given } = check(request, rules);
  const how = onPage ?? {
    method: onBehalfBy === null ? 'page' : IMPERSONATION,
    browserDigest: null,
    answerDigest: null,
    ...givenOrigin(ipAddress, userAgent),
  };
  // Who signs in on behalf of a user has shown nothing about that user.
  const assurance = (onBehalfBy === null && given.assurance) || ONE_FACTOR;
  const login = { loginIntentId, userId, assurance, onBehalfBy };
  const parameters = completionParameters(call, login, { how, proved });
  const [found] = await call.run(proved ? completeIntentByProof : completeIntent, parameters);
  const intent = found ?? (await provingUser(userId, () => completeOrRefuse(call, parameters)));
  // What was proved is no longer the user's.
  if (!intent) throw new ServiceError(parameters.emails === null ? 'USER_NOT_FOUND' : 'CODE_NOT_VALID');
  return answerCompletion(call, tokens, { ...how, ...login, ...intent });
}

interface WhoSignsIn {
  readonly loginIntentId: string;
  readonly userId: string;
  readonly assurance: number;
  readonly onBehalfBy: string | null;
}

export function completionParameters(
  { now }: Pick<Call, 'now'>,
  login: WhoSignsIn,
  { how, proved = {} }: OnLoginPage & { readonly how: HowSignedIn },
) {
  const { email = null, walletAddress = null, issuer = null, subject = null } = proved;
  return {
    ...BY_POSTGRES,
    ...how,
    ...login,
    authenticatedAt: how.authenticatedAt ?? null,
    now,
    ...spellingsOf(email),
    walletAddress,
    issuer,
    subject,
  };
}

type Completed = RowOfType<typeof COMPLETED_INTENT> &
  Omit<WhoSignsIn, 'assurance'> &
  Omit<HowSignedIn, 'authenticatedAt'>;

/** Does what follows a completed login, and returns its answer. */
export async function answerCompletion(
  call: Call,
  tokens: AuthTokens,
  { onBehalfBy, userId, ...intent }: Completed,
): Promise<Completion> {
  call.count?.('sign_ins');
  if (intent.isInvited && onBehalfBy === null) await acceptInvitation(call, { ...intent, userId });
  else if (intent.isInvited) await noteEntryOnBehalf(call, { ...intent, userId });
  // After a sign-in by e-mail, `rememberOrigin` does it.
  if (intent.method !== 'email' && intent.ipAddress !== null) await removeIfErased(call, userId);
  return answerLogin(tokens, { ...intent, userId });
}

/**
 * The same on a page other than Usher's. A refusal is an attempt of the user whom the page names, unless somebody signs
 * in on behalf of that user.
 */
export async function completeLoginElsewhere(
  call: Call,
  { codes, tokens }: { readonly codes: Pick<LoginCodeSettings, 'keys'>; readonly tokens: AuthTokens },
  request: Unchecked<keyof typeof rules>,
): Promise<Completion> {
  try {
    return await completeLogin(call, tokens, request);
  } catch (error) {
    const { loginIntentId, ipAddress, userAgent, onBehalfBy } = check(request, rules);
    // Equivalent: guard: no other error has a reason
    if (!(error instanceof ServiceError)) throw error;
    const reason = attemptReasonOf(error);
    if (reason && onBehalfBy === null) {
      const userId = error.attempt?.userId ?? null;
      const origin = { ipAddress, userAgent: userId && userAgent && shortenUserAgent(userAgent) };
      await recordAttempt(call, codes, { loginIntentId, reason, userId, method: 'page', ...origin });
    }
    throw error;
  }
}

/** Completes an intent that the usual statement has left open, or throws why it cannot be completed. */
async function completeOrRefuse(call: Call, parameters: ProofParameters & HowSignedIn & Omit<WhoSignsIn, 'userId'>) {
  const open = await requireOpenIntent(call, parameters.loginIntentId);
  const { applicationId, restrictAccess, prompt, maxAgeSeconds, requiredAssurance } = open;
  const isFresh = prompt !== '' || maxAgeSeconds !== null;
  if (parameters.onBehalfBy !== null && isFresh) throw new ServiceError('SIGN_IN_NOT_FRESH');
  const suffices = parameters.assurance >= requiredAssurance;
  const isOnPage = parameters.answerDigest !== null;
  if (!suffices && !isOnPage) throw new ServiceError('ASSURANCE_NOT_MET');
  if (restrictAccess) {
    const [completed] = await call.run(completeRestrictedIntent, { ...parameters, applicationId });
    if (completed) return completed;
    await requireAccess(call, { ...parameters, applicationId });
  }
  const completed = isOnPage ? await holdSignIn(call, open, parameters) : undefined;
  if (!suffices) throw new ServiceError('ASSURANCE_NOT_MET');
  return completed;
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
  // Equivalent: default: a token shows one factor for none, and nobody remembers a sign-in without a level
  const assurance = login.assurance ?? ONE_FACTOR;
  const signIn = { applicationId, userId, method, assurance, authenticatedAt: completedAt };
  const shared = { prompt, ...(singleSignOn && !authenticatedAt && { signIn }) };
  const protocol = tokens.protocolOf(login);
  if (protocol) return { authToken: '', redirectUrl: protocol.toCompletedUrl(login), ...shared };
  const authToken = await tokens.mint({
    ...login,
    assurance,
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
  readonly proved?: Proved | undefined;
}

interface CompletedLogin extends Omit<RowOfType<typeof COMPLETED_INTENT>, 'isInvited'> {
  readonly loginIntentId: string;
  readonly userId: string;
  readonly method: SignInMethod;
}

const ofUser = (isProved: SQL) => ({
  user: sql`users u where ${isProved}`,
  owes: 'u' as const,
  condition: sql`(${p.text('onBehalfBy')}::text is null or i.prompt = '' and i.max_age_seconds is null)`,
  completedAt: laterThanCutoffs,
  authenticatedAt: p.instant('authenticatedAt'),
  assurance: p.integer('assurance'),
  onBehalfBy: p.text('onBehalfBy'),
});

/** Completes an intent as the user who still has what was proved. Parameters: those of `completionParameters`. */
export const completionByProof = ofUser(isProvedUser);

const completion = (name: string, user: ReturnType<typeof ofUser>) => statement(name, COMPLETED_INTENT)`
  with ${completedIntent(user)}
  select * from completed`;

/** Another page proves nothing to Usher. Postgres sets up every look-up of a statement, also one that it does not run. */
const completeIntent = completion('complete_login_intent', ofUser(isUserById));
const completeIntentByProof = completion('complete_login_intent_by_proof', completionByProof);

/** It takes the ID of the application to find out whom the operator has let in: tables may be distributed. */
const completeRestrictedIntent = statement('complete_restricted_login_intent', COMPLETED_INTENT)`
  with ${accessByCtes.ctes}, ${completedIntent({ ...completionByProof, access: accessByCtes.condition })}
  select * from completed`;
