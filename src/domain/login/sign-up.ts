import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { listMatchingDomains } from '../../config/email-domains.ts';
import { isUniqueViolation } from '../../database/sql/errors.ts';
import { BY_POSTGRES } from '../../database/sql/instants.ts';
import { p, statement } from '../../database/sql/template.ts';
import { ONE_FACTOR } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import type { AuthTokens } from '../tokens/auth-tokens.ts';
import { isEmailTaken, spellingsOf } from '../users/find-user-by-email.ts';
import { answerLogin, type Completion, type HowSignedIn } from './complete-login.ts';
import { COMPLETED_INTENT, completedIntent } from './completed-intent.ts';
import type { SignUpRules } from './sign-up-rules.ts';

/**
 * Creates a user, with an identity at a provider if one is given, and completes the login in the same statement.
 * Returns undefined if another user has the e-mail address, the wallet or the identity, if the intent is not open, or
 * if the application or the operator does not let the address sign up.
 */
export async function signUp(
  { run, now, count }: Call,
  { tokens, signUps }: { readonly tokens: AuthTokens; readonly signUps: SignUpRules },
  loginIntentId: string,
  user: { email: string; name: string | null; walletAddress: string; identity?: NewIdentity | undefined },
  { assurance = ONE_FACTOR, ...how }: HowSignedIn & { readonly assurance?: number },
): Promise<(Completion & { userId: string }) | undefined> {
  if (signUps.isBlocked(user.email)) return undefined;
  const userId = randomUUID();
  const { identity, ...profile } = user;
  const { provider, issuer, subject } = identity ?? NO_IDENTITY;
  const linked = { provider, issuer, subject };
  const parameters = {
    ...profile,
    ...spellingsOf(user.email),
    domains: listMatchingDomains(user.email),
    ...linked,
    ...how,
    authenticatedAt: how.authenticatedAt ?? null,
    assurance,
    ...BY_POSTGRES,
    userId,
    loginIntentId,
    now,
  };
  const [intent] = await run(insertUserAndComplete, parameters).catch((error: unknown) => {
    // Concurrent sign-ups with the same identity do not see each other's rows.
    if (isUniqueViolation(error)) return [];
    throw error;
  });
  if (!intent) return undefined;
  count?.('sign_ins');
  count?.('sign_ups');
  const answer = await answerLogin(tokens, { ...how, ...intent, loginIntentId, userId });
  return { userId, ...answer };
}

/** The identity at a provider with which a new user signs in. */
interface NewIdentity {
  readonly provider: string;
  readonly issuer: string;
  readonly subject: string;
}

const NO_IDENTITY = { provider: null, issuer: null, subject: null };

const insertUserAndComplete = statement('sign_up', COMPLETED_INTENT)`
  with open as (
    -- Locked, so that the second request of a double click waits here and creates no user.
    select i.id from login_intents i join applications a on a.id = i.application_id
    where i.id = ${p.uuid('loginIntentId')} and i.completed_at is null and i.expires_at > ${p.instant('now')}
      and a.deleted_at is null and a.allow_sign_up and not a.restrict_access
      and (a.sign_up_email_domains = '{}' or a.sign_up_email_domains && ${p.texts('domains')}) and not ${isEmailTaken} and not exists (
        select 1 from user_identities d
        where d.issuer = ${p.text('issuer')} and d.subject = ${p.text('subject')})
    for update of i
  ), created as (
    insert into users (id, email, name, wallet_address, created_at, email_verified_at)
    select ${p.uuid('userId')}, ${p.text('email')}, ${p.text('name')}, ${p.text('walletAddress')}, ${p.instant('now')},
      case when ${p.text('method')} = 'email' then ${p.instant('now')} end
    from open on conflict do nothing returning id
  ), identified as (
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    select ${p.text('issuer')}, ${p.text('subject')}, id, ${p.text('provider')}, ${p.instant('now')}
    from created where ${p.text('issuer')} is not null
  ), ${completedIntent({
    user: sql`created`,
    owes: null,
    authenticatedAt: p.instant('authenticatedAt'),
    assurance: p.integer('assurance'),
  })}
  select * from completed`;
