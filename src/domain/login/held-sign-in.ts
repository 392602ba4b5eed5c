/**
 * Sign-ins whose first step was right, and that a second one has to complete. The first step has used up what it proved.
 * Whatever ends a user's sign-ins ends them, too.
 */
import { type SQL, sql } from 'drizzle-orm';
import { users } from '../../database/schema/schema.ts';
import { heldSignIns } from '../../database/schema/second-factor-schema.ts';
import { BY_POSTGRES } from '../../database/sql/instants.ts';
import { columnsOf, p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { accessByCtes } from '../access/has-access.ts';
import { TWO_FACTORS } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { type Browser, isInBrowser, type SignInOrigin } from '../sessions/browser.ts';
import { isStillHere } from '../sessions/browser-cutoffs.ts';
import { isSignInAfterEveryCutoff } from '../sessions/cutoffs.ts';
import { ageParameters, isCounting, isStrongEnough } from '../users/counts-from.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { COMPLETED_INTENT, completedIntent, laterThanCutoffs } from './completed-intent.ts';
import type { LoginIntent } from './login-intent.ts';
import { isProvedUser, type ProofParameters } from './proved-user.ts';

export const HELD_MS = 10 * 60_000;

/** The method of a sign-in by a recovery link. Only its second step shows that the operator vouches for the right person. */
export const RECOVERY = 'recovery';

interface FirstStep extends ProofParameters, SignInOrigin {
  readonly method: string;
  readonly assurance: number;
  readonly passkeyId?: string | null;
  readonly authenticatedAt?: Date | null | undefined;
}

/**
 * Call it for a sign-in on Usher's pages that has not completed its login. Holds it if the user has a second factor, or
 * may set one up because the login demands it. Completes it if the second factor is too young to be asked. Returns
 * undefined if the sign-in was refused for another reason.
 *
 * @throws ServiceError `Second factor needed` if the sign-in is held
 */
export async function holdSignIn(
  call: Call,
  {
    id: loginIntentId,
    applicationId,
    expiresAt,
    requiredAssurance,
  }: Pick<LoginIntent, 'id' | 'applicationId' | 'expiresAt' | 'requiredAssurance'>,
  firstStep: FirstStep,
): Promise<RowOfType<typeof COMPLETED_INTENT> | undefined> {
  const parameters = {
    ...BY_POSTGRES,
    passkeyId: null,
    authenticatedAt: null,
    ...firstStep,
    ...ageParameters(call, { assurance: firstStep.assurance, isVouchedFor: false }),
    applicationId,
    loginIntentId,
    requiredAssurance,
    now: call.now,
    heldUntil: new Date(Math.min(call.now.getTime() + HELD_MS, expiresAt.getTime())),
  };
  const [held] = await call.run(insertHeld, parameters);
  if (!held) return undefined;
  await removeIfErased(call, firstStep.userId);
  if (held.isAsked) throw new ServiceError('SECOND_FACTOR_NEEDED');
  const [completed] = await call.run(completeWhileYoung, parameters);
  return completed;
}

const insertHeld = statement('hold_sign_in', { isAsked: t.boolean })`
  with proved as (
    select u.id, u.has_second_factor, u.email_changed_at, u.passkey_removed_at, ${laterThanCutoffs} as proved_at
    from users u where ${isProvedUser}
  ), counting as (
    select user_id from totp_secrets where user_id = ${p.uuid('userId')} and ${isCounting(sql`counts_from`)}
  ), wanted as (
    select users.id, users.email_changed_at, users.proved_at,
      not users.has_second_factor or exists (select 1 from counting) as is_asked
    from proved as users
    where ${p.integer('assurance')} < ${sql.raw(String(TWO_FACTORS))} and case when users.has_second_factor
      then ${p.integer('requiredAssurance')} <= case when exists (select 1 from counting)
        then ${sql.raw(String(TWO_FACTORS))} else ${p.integer('assurance')} end
      else ${p.integer('requiredAssurance')} = ${sql.raw(String(TWO_FACTORS))} and ${isStrongEnough(sql.raw(String(TWO_FACTORS)))} end
  ), held as (
    insert into held_sign_ins as h (application_id, login_intent_id, user_id, method, passkey_id, browser_digest,
      authenticated_at, proved_at, email_changed_at, expires_at)
    select ${p.uuid('applicationId')}, ${p.uuid('loginIntentId')}, id, ${p.text('method')}, ${p.uuid('passkeyId')},
      ${p.bytes('browserDigest')}, ${p.instant('authenticatedAt')}, proved_at, email_changed_at, ${p.instant('heldUntil')}
    from wanted
    on conflict (application_id, login_intent_id) do update set user_id = excluded.user_id, method = excluded.method,
      passkey_id = excluded.passkey_id, browser_digest = excluded.browser_digest,
      authenticated_at = excluded.authenticated_at, proved_at = excluded.proved_at,
      email_changed_at = excluded.email_changed_at, expires_at = excluded.expires_at
  ), codes_used as (
    delete from login_codes c using wanted
    where c.application_id = ${p.uuid('applicationId')} and c.login_intent_id = ${p.uuid('loginIntentId')}
  )
  select is_asked from wanted`;

const { userId, method, passkeyId, authenticatedAt } = heldSignIns;
const HELD = { userId, method, passkeyId, authenticatedAt };

export type HeldSignIn = RowOfType<typeof HELD>;

/** Returns the sign-in of this browser that waits for its second step. */
export async function findHeldSignIn(
  { run, now }: Call,
  { digest: browserDigest }: Pick<Browser, 'digest'>,
  { id: loginIntentId, applicationId }: Pick<LoginIntent, 'id' | 'applicationId'>,
): Promise<HeldSignIn | undefined> {
  const [held] = await run(selectHeld, { applicationId, loginIntentId, browserDigest, now });
  return held;
}

const isHeld = sql`${isInBrowser} and expires_at > ${p.instant('now')}`;

const selectHeld = statement('select_held_sign_in', HELD)`
  select ${columnsOf(HELD)} from held_sign_ins where ${isHeld}`;

/** Returns CTEs of which the last, `live`, has the ID of the user if nothing has ended the held sign-in. */
const liveHeldSignIn = (lock: SQL) => sql`held as (
    select user_id, proved_at, email_changed_at from held_sign_ins where ${isHeld} and user_id = ${p.uuid('userId')} ${lock}
  ), live as (
    -- Equivalent: conjunct: both have the ID that the next line compares
    select users.id as user_id, users.cutoff_count from users join held on held.user_id = users.id
    where ${isSignInAfterEveryCutoff(sql`held.proved_at`)} and ${isStillHere(sql`held.proved_at`)}
      and users.email_changed_at is not distinct from held.email_changed_at
  )`;

/**
 * Returns CTEs that complete the intent of a live held sign-in, which they delete: who deletes it completes the login,
 * so neither a second code nor a revocation that has deleted it before does.
 *
 * @param factor CTEs of which the last, `factor`, has the `user_id` in `live` if the second step is right
 * @param lock lets what ends the first step in the same instant leave the factor unused. None if `factor` locks the row
 * of `users`, which everybody else locks first: it then compares the `cutoff_count` of `live`.
 */
export function completedFromHeld(factor: SQL, lock = sql`for update`): SQL {
  return sql`${liveHeldSignIn(lock)}, ${factor}, released as (
    delete from held_sign_ins h using factor
    where h.application_id = ${p.uuid('applicationId')} and h.login_intent_id = ${p.uuid('loginIntentId')}
      and h.browser_digest = ${p.bytes('browserDigest')} and h.user_id = factor.user_id
    returning h.user_id
  ), ${accessByCtes.ctes}, ${completedIntent({
    user: sql`released`,
    owes: null,
    access: sql`(not a.restrict_access or ${accessByCtes.condition})`,
    completedAt: laterThanCutoffs,
    authenticatedAt: p.instant('authenticatedAt'),
    assurance: p.integer('assurance'),
    passkeyId: p.uuid('passkeyId'),
    vouchedUserId: sql`case when ${p.text('method')} = ${sql.raw(`'${RECOVERY}'`)} then ${p.uuid('userId')} else i.vouched_user_id end`,
  })}`;
}

/** A factor that does not count yet is neither asked nor counted: somebody else may have added it. */
const completeWhileYoung = statement('complete_login_while_second_factor_is_young', COMPLETED_INTENT)`
  with ${completedFromHeld(sql`factor as (
    select live.user_id from live where not exists (
      select 1 from totp_secrets t where t.user_id = ${p.uuid('userId')} and ${isCounting(sql`t.counts_from`)})
  )`)}
  select * from completed`;

/** Returns the address of the user, and whether there is a second factor, which may not count yet. */
export async function findFactorOwner({ run }: Call, id: string): Promise<RowOfType<typeof FACTOR_OWNER> | undefined> {
  const [owner] = await run(selectFactorOwner, { userId: id });
  return owner;
}

const { email, hasSecondFactor } = users;
const FACTOR_OWNER = { email, hasSecondFactor };

const selectFactorOwner = statement('select_factor_owner', FACTOR_OWNER)`
  select email, has_second_factor from users where id = ${p.uuid('userId')}`;
