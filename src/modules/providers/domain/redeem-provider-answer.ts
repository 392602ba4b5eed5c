import { userIdentities } from '../../../database/schema/identity-schema.ts';
import { p, statement, t } from '../../../database/sql/template.ts';
import { allowsMethod } from '../../../domain/applications/branding.ts';
import { ONE_FACTOR } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { hasReason, ServiceError } from '../../../domain/core/errors.ts';
import { findProvedIdentityById, keepProvedIdentity, linkIdentity } from '../../../domain/identities/link-identity.ts';
import type { EmailLoginParts } from '../../../domain/login/complete-email-login.ts';
import { type Completion, completeLogin, type HowSignedIn } from '../../../domain/login/complete-login.ts';
import { rememberOrigin } from '../../../domain/login/known-origins.ts';
import type { LoginCodeSettings } from '../../../domain/login/login-code.ts';
import { type LoginIntent, requireOpenIntent } from '../../../domain/login/login-intent.ts';
import { noteSignIn } from '../../../domain/login/note-sign-in.ts';
import type { Proved } from '../../../domain/login/proved-user.ts';
import { type SharedLimit, takeNetworkPermits } from '../../../domain/login/rate-limit.ts';
import { signUp } from '../../../domain/login/sign-up.ts';
import { type Browser, toSignInOrigin } from '../../../domain/sessions/browser.ts';
import { isYoung, VOUCHED_FOR } from '../../../domain/users/counts-from.ts';
import { findUserToSignIn } from '../../../domain/users/find-user-by-email.ts';
import { profileRules } from '../../../domain/users/user.ts';
import { highestLevelOf } from '../assurance-table.ts';
import type { LoginProvider } from '../parse-login-providers.ts';
import type { Authorization, LoginPurpose } from './authorization-state.ts';
import type { ProviderConnection } from './login-providers.ts';
import type { Identity } from './provider-client.ts';
import { findEarlierSignIn, freshnessOf, moveAfterCutoffs } from './provider-freshness.ts';
import { isOfDomains } from './verified-email.ts';

/** Limits requests to the provider: anybody can begin logins and send codes that only the provider can verify. */
const PROVIDER_ANSWERS: SharedLimit = {
  subject: 'provider answers',
  perNetwork: { burst: 60, intervalMs: 10_000 },
  perSite: { burst: 300, intervalMs: 2_000 },
};

/** @throws ServiceError `Too many sign-ins` */
export async function requireProviderPermit(call: Call, codes: LoginCodeSettings, { address }: Browser): Promise<void> {
  if (!(await takeNetworkPermits(call, codes, address, PROVIDER_ANSWERS))) throw new ServiceError('TOO_MANY_SIGN_INS');
}

export interface ProviderAnswerParts extends EmailLoginParts {
  /** Whether people can sign in by code. */
  readonly hasEmail: boolean;
}

/** The answer if no user has the identity yet: the page then asks for an e-mail address and sends a code. */
export interface NeedsCode {
  /** The address that the provider sent, or an empty string. */
  readonly email: string;
}

/**
 * Completes the login of the person who has signed in at the provider. If no user has the identity, its address finds
 * or creates the user if the operator trusts addresses of the provider. Otherwise the identity is kept for the user who
 * then signs in by code.
 *
 * @throws ServiceError `Too many sign-ins`, `Provider unavailable`, `Sign-in not fresh`, `Unknown identity`, `Identity
 * already linked`, `Account closed`, `Assurance not met` (the detail says why), and as `requireOpenIntent` and `completeLogin` do
 */
export async function redeemProviderAnswer(
  call: Call,
  parts: ProviderAnswerParts,
  browser: Browser,
  {
    connection,
    callback,
    authorization,
    purpose,
    onProblem,
  }: {
    readonly connection: Pick<ProviderConnection, 'provider' | 'identify'>;
    readonly callback: URL;
    readonly authorization: Authorization;
    readonly purpose: LoginPurpose;
    /** Called if the provider has refused to tell the address, with the cause for the log. */
    readonly onProblem?: (detail: string) => void;
  },
): Promise<Completion | NeedsCode> {
  const { provider } = connection;
  const intent = await requireOpenIntent(
    call,
    authorization.subjectId,
    provider.id,
    highestLevelOf(provider.assurance),
  );
  const login = { applicationId: intent.applicationId, loginIntentId: intent.id, browserDigest: browser.digest };
  // A code of the provider works once, so a reload of the page finds the identity that the first request has kept.
  const earlier = await findProvedIdentityById(call, { ...login, id: authorization.id });
  if (earlier) return { email: earlier.email };
  await requireProviderPermit(call, parts.codes, browser);
  const identity = await connection.identify(callback, authorization);
  if (identity.problem) onProblem?.(identity.problem);
  const authenticatedAt = findEarlierSignIn(call, freshnessOf(intent, purpose), authorization, identity);
  const how = { method: provider.id, ...toSignInOrigin(browser), browserDigest: browser.digest, authenticatedAt };
  const { issuer, subject } = identity;
  const [owner] = await call.run(selectIdentityUser, { issuer, subject });
  if (owner) {
    if (!owner.isActive) throw new ServiceError('UNKNOWN_IDENTITY', { attempt: { userId: owner.userId } });
    const isNew = isYoung(owner.countsFrom, call.now);
    const { assurance } = identity;
    const login = { browser, intent, how, assurance: isNew ? ONE_FACTOR : assurance };
    return await completeAs(call, parts, login, owner.userId, { issuer, subject }).catch((error: unknown) => {
      throw toLevelError(error, isNew && assurance >= intent.requiredAssurance ? TOO_NEW : NO_SECOND_FACTOR);
    });
  }
  const completion = await completeByAddress(call, parts, { browser, intent, provider, identity, how });
  if (completion) return completion;
  // A code would not complete a login that demands more.
  const mayLink = parts.hasEmail && allowsMethod(intent.branding, 'email') && intent.requiredAssurance === ONE_FACTOR;
  if (!mayLink) throw new ServiceError('UNKNOWN_IDENTITY');
  const email = toAddress(identity.email);
  const { expiresAt } = intent;
  const kept = { id: authorization.id, provider: provider.id, issuer, subject, email };
  await keepProvedIdentity(call, { ...login, ...kept, expiresAt });
  return { email };
}

interface Unlinked {
  readonly browser: Browser;
  readonly intent: LoginIntent;
  readonly provider: LoginProvider;
  readonly identity: Identity;
  readonly how: ProviderSignIn;
}

/** Why the sign-in does not suffice, for the log and the page. */
const NO_SECOND_FACTOR = 'the ID token shows no second factor';
export const TOO_NEW = 'the account was linked lately';

function toLevelError(error: unknown, detail: string): unknown {
  if (!hasReason(error, 'ASSURANCE_NOT_MET')) return error;
  return new ServiceError('ASSURANCE_NOT_MET', { detail, attempt: error.attempt });
}

interface ProviderSignIn extends HowSignedIn {
  readonly browserDigest: Buffer;
}

async function completeAs(
  call: Call,
  { codes, tokens }: ProviderAnswerParts,
  { browser, intent, how, assurance }: Pick<Unlinked, 'browser' | 'intent' | 'how'> & { readonly assurance: number },
  userId: string,
  proved: Proved,
): Promise<Completion> {
  const { applicationId, id: loginIntentId } = intent;
  const { authenticatedAt: given, browserDigest } = how;
  const authenticatedAt = given && (await moveAfterCutoffs(call, given, { applicationId, userId, browserDigest }));
  const completion = await completeLogin(
    call,
    tokens,
    { loginIntentId, userId, assurance },
    { how: { ...how, authenticatedAt }, proved },
  );
  await noteSignIn(call, codes.keys, browser, { applicationId, locale: intent.locale, userId });
  return completion;
}

/** Returns undefined if the address is not trusted, or a new user must give a name. */
async function completeByAddress(
  call: Call,
  parts: ProviderAnswerParts,
  { browser, intent, provider, identity, how }: Unlinked,
): Promise<Completion | undefined> {
  const { assurance, isEmailVerified, issuer, subject } = identity;
  const email = toAddress(identity.email);
  const isTrusted = provider.trustEmail && isEmailVerified && isOfDomains(email, provider.emailDomains);
  if (!isTrusted || !email) return undefined;
  const linked = { issuer, subject, provider: provider.id };
  const user = await findUserToSignIn(call, email);
  if (user) {
    // The operator trusts the provider to know whose address it is.
    await linkIdentity(call, linked, { userId: user.id, email }, { ...VOUCHED_FOR, origin: intent });
    const login = { browser, intent, how, assurance };
    const proved = { email, issuer, subject };
    return await completeAs(call, parts, login, user.id, proved).catch((error: unknown) => {
      throw toLevelError(error, NO_SECOND_FACTOR);
    });
  }
  if (assurance < intent.requiredAssurance) throw new ServiceError('ASSURANCE_NOT_MET', { detail: NO_SECOND_FACTOR });
  const name = nameOf(identity);
  if (!parts.signUps.allow(intent, email)) throw new ServiceError('UNKNOWN_IDENTITY');
  if (intent.askName && name === null) return undefined;
  const signedUp = await signUp(
    call,
    parts,
    intent.id,
    { email, name, walletAddress: '', identity: linked },
    { ...how, assurance },
  );
  // Without a notice: the next sign-in in this browser is no surprise.
  if (signedUp)
    await rememberOrigin(call, parts.codes.keys, browser, { userId: signedUp.userId, email }).catch(() => {});
  return signedUp;
}

/** Returns the canonical spelling, or an empty string for an address that Usher would refuse. */
function toAddress(email: string): string {
  return accepted(profileRules.email, email) ?? '';
}

/** Returns null for a name that Usher would refuse. */
function nameOf({ name }: Identity): string | null {
  return accepted(profileRules.name, name) || null;
}

function accepted<T>(rule: (value: unknown) => T, text: string): T | undefined {
  try {
    return rule(text);
  } catch {
    return undefined;
  }
}

const OWNER = { userId: t.uuid, isActive: t.boolean, countsFrom: userIdentities.countsFrom };

const selectIdentityUser = statement('select_identity_user', OWNER)`
  select u.id as user_id, u.deleted_at is null and u.deactivated_at is null as is_active, i.counts_from
  from user_identities i join users u on u.id = i.user_id
  where i.issuer = ${p.text('issuer')} and i.subject = ${p.text('subject')}`;
