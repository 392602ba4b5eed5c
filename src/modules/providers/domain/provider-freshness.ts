/** Logins that need a recent sign-in at a provider. Usher asks the provider for one, and checks `auth_time`. */
import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../domain/core/own-applications.ts';
import type { LoginIntent } from '../../../domain/login/login-intent.ts';
import { latestCutoff } from '../../../domain/sessions/cutoffs.ts';
import { sidOf } from '../../../domain/sessions/sid.ts';
import type { LoginProvider } from '../parse-login-providers.ts';
import type { Authorization, LoginPurpose } from './authorization-state.ts';
import type { Freshness, Identity } from './provider-client.ts';

/** The clocks of Usher and a provider may differ. */
const TOLERANCE_MS = 60_000;
/** A sign-in to the account page lasts for a day. */
const ACCOUNT_SECONDS = 24 * 60 * 60;

/** Returns undefined if any sign-in at the provider will do. */
export function freshnessOf(
  { applicationId, maxAgeSeconds, prompt }: Pick<LoginIntent, 'applicationId' | 'maxAgeSeconds' | 'prompt'>,
  purpose: LoginPurpose,
): Freshness | undefined {
  if (prompt !== '' || purpose === 'passkeys') return { maxAgeSeconds: 0, isRequired: true };
  if (maxAgeSeconds !== null) return { maxAgeSeconds, isRequired: true };
  // Without `auth_time`, the account page allows people to look, but not to change anything.
  return applicationId === ACCOUNT_APPLICATION_ID ? { maxAgeSeconds: ACCOUNT_SECONDS, isRequired: false } : undefined;
}

/** @throws ServiceError `Sign-in not fresh` for a provider that cannot ask people to sign in again */
export function requireAskable({ type }: LoginProvider, freshness: Freshness | undefined): void {
  if (type === 'github' && freshness?.isRequired) throw notFresh('GitHub has no prompt=login and no auth_time');
}

/**
 * Returns the instant of the sign-in at the provider, or null if that was during this login. An instant makes the
 * sign-in like one that continues a remembered sign-in: no passkeys may be added with it.
 *
 * @throws ServiceError `Sign-in not fresh`
 */
export function findEarlierSignIn(
  { now }: Pick<Call, 'now'>,
  freshness: Freshness | undefined,
  { begunAt }: Authorization,
  { authenticatedAt }: Identity,
): Date | null {
  if (!freshness) return null;
  if (!authenticatedAt) {
    if (freshness.isRequired) throw notFresh('no auth_time');
    return now;
  }
  const ageMs = begunAt.getTime() - authenticatedAt.getTime();
  if (ageMs > freshness.maxAgeSeconds * 1_000 + TOLERANCE_MS) throw notFresh('auth_time is too old');
  if (authenticatedAt.getTime() > now.getTime() + TOLERANCE_MS) throw notFresh('auth_time is in the future');
  return ageMs > TOLERANCE_MS ? authenticatedAt : null;
}

function notFresh(detail: string): ServiceError {
  return new ServiceError('SIGN_IN_NOT_FRESH', { detail });
}

/**
 * Returns the instant, or the first one after every cut-off that would end such a sign-in. Otherwise, whoever has signed
 * out since could not sign in until the provider asks again.
 */
export async function moveAfterCutoffs(
  { run }: Call,
  authenticatedAt: Date,
  signIn: { readonly applicationId: string; readonly userId: string; readonly browserDigest: Buffer },
): Promise<Date> {
  const { applicationId, userId, browserDigest } = signIn;
  const sid = sidOf(applicationId, userId, browserDigest);
  const [found] = await run(selectAfterCutoffs, { ...signIn, sid, authenticatedAt });
  return found?.signedInAt ?? authenticatedAt;
}

const selectAfterCutoffs = statement('select_after_cutoffs', { signedInAt: t.instant })`
  select greatest(${p.instant('authenticatedAt')}, interval '1 ms' + greatest(${latestCutoff(sql`users.id`)},
    (select cutoff_at from session_cutoffs
    where application_id = ${p.uuid('applicationId')} and user_id = ${p.uuid('sid')}),
    (select cutoff_at from browser_cutoffs
    where user_id = ${p.uuid('userId')} and browser_digest = ${p.bytes('browserDigest')}))) as signed_in_at
  from users where id = ${p.uuid('userId')}`;
