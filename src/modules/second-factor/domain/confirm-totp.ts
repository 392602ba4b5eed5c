/** Setting up an authenticator app. Nothing is stored before its first code: the page keeps the secret, sealed. */
import { randomBytes, randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { BY_POSTGRES, statementInstant } from '../../../database/sql/instants.ts';
import { nullable, p, statement, t } from '../../../database/sql/template.ts';
import { auditEvent, noApplication } from '../../../domain/audit/audit-event.ts';
import { ONE_FACTOR, TWO_FACTORS } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { openToken, sealToken } from '../../../domain/crypto/aes-gcm.ts';
import type { DerivedKeys } from '../../../domain/crypto/derived-keys.ts';
import type { Completion } from '../../../domain/login/complete-login.ts';
import { COMPLETED_INTENT } from '../../../domain/login/completed-intent.ts';
import { completedFromHeld } from '../../../domain/login/held-sign-in.ts';
import { readLoginCode } from '../../../domain/login/read-login-code.ts';
import type { RecentSignIn } from '../../../domain/login/recent-sign-in.ts';
import { noticeParameters, noticesOf } from '../../../domain/notices/store-notice.ts';
import { createRecoveryCodes, digestRecoveryCode } from '../../../domain/second-factor/recovery-codes.ts';
import { findTotpStep } from '../../../domain/second-factor/totp.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { isSignedInHere } from '../../../domain/sessions/browser-cutoffs.ts';
import { isSignInAfterEveryCutoff } from '../../../domain/sessions/cutoffs.ts';
import { ageParameters, countsFrom, isStrongEnough } from '../../../domain/users/counts-from.ts';
import { removeIfErased } from '../../../domain/users/personal-data.ts';
import { isStillSignedIn } from '../../../domain/users/still-signed-in.ts';
import { decodeBase32, encodeBase32 } from '../../../encoding/base32.ts';
import { answerHeld, type HeldLogin, type HeldLoginParts, heldParameters } from './complete-held-login.ts';

const SECRET_BYTES = 20;
const LIFETIME_MS = 10 * 60_000;

export interface SetUpParts extends HeldLoginParts {
  /** The keys of secrets that nobody has confirmed. */
  readonly keys: DerivedKeys;
}

/** The login within which a user sets up an app: one that it completes, or one of the last minutes. */
export interface SetUpLogin {
  readonly userId: string;
  readonly loginIntentId: string;
}

/** A secret that the page shows, until the first code confirms it. */
export interface UnconfirmedSecret {
  /** In Base32. */
  readonly secret: string;
  /** Sealed for this user, login and browser, for 10 minutes. */
  readonly sealed: string;
}

export async function createSecret(
  call: Call,
  { keys }: Pick<SetUpParts, 'keys'>,
  browser: Browser,
  login: SetUpLogin,
): Promise<UnconfirmedSecret> {
  const secret = encodeBase32(randomBytes(SECRET_BYTES));
  const facts = [secret, await readEmailChange(call, login), call.now.getTime() + LIFETIME_MS];
  return { secret, sealed: sealToken(keys, JSON.stringify(facts), aadOf(browser, login)) };
}

/** Returns undefined for a secret of another user, login or browser, and after 10 minutes. */
export function openSecret(
  { now }: Pick<Call, 'now'>,
  { keys }: Pick<SetUpParts, 'keys'>,
  browser: Browser,
  { login, sealed }: { readonly login: SetUpLogin; readonly sealed: string },
): (UnconfirmedSecret & { readonly emailChangedAt: Date | null }) | undefined {
  const text = openToken(keys, sealed, aadOf(browser, login));
  if (text === undefined) return undefined;
  const [secret, changedAt, expiresAt] = JSON.parse(text);
  if (now.getTime() >= expiresAt) return undefined;
  return { secret, sealed, emailChangedAt: changedAt === null ? null : new Date(changedAt) };
}

function aadOf({ digest }: Browser, { userId, loginIntentId }: SetUpLogin): string {
  return `unconfirmed app ${digest.toString('hex')} ${userId} ${loginIntentId.toLowerCase()}`;
}

/** A change of the address ends the set-up. */
async function readEmailChange({ run }: Call, { userId }: SetUpLogin): Promise<number | null> {
  const [user] = await run(selectEmailChange, { userId });
  return user?.emailChangedAt?.getTime() ?? null;
}

const selectEmailChange = statement('select_email_change', { emailChangedAt: nullable(t.instant) })`
  select email_changed_at from users where id = ${p.uuid('userId')}`;

interface Confirmation {
  readonly browser: Browser;
  readonly sealed: string;
  readonly code: string;
}

/** What the user must keep, and whether the app counts yet. */
export interface NewFactor {
  readonly recoveryCodes: readonly string[];
  /** Null: at once. */
  readonly countsFrom: Date | null;
}

/**
 * Stores the app after a sign-in of the last minutes, in place of a former one, with ten new recovery codes.
 *
 * @throws ServiceError `Wrong code of the second factor`; `The first step has expired` for a secret of more than 10
 * minutes ago, and if something has ended the sign-in; `Assurance not met` if the user has an app, and has not signed in with two factors
 */
export async function confirmTotp(
  call: Call,
  parts: SetUpParts,
  signIn: RecentSignIn,
  confirmation: Confirmation,
): Promise<NewFactor> {
  const { userId, applicationId, completedAt, cutoffCount, intent } = signIn;
  const { parameters, recoveryCodes } = await prepare(call, parts, signIn, confirmation, {
    assurance: intent.assurance,
    isVouchedFor: intent.vouchedUserId === userId,
  });
  const [confirmed] = await call.run(storeTotp, {
    ...parameters,
    ...noticeParameters(call, intent),
    noticeId: parameters.id,
    applicationId,
    completedAt,
    cutoffCount,
    browserDigest: confirmation.browser.digest,
  });
  if (!confirmed) throw new ServiceError('HELD_SIGN_IN_ENDED');
  if (!confirmed.isStored) throw new ServiceError('ASSURANCE_NOT_MET');
  call.notices?.wake();
  await removeIfErased(call, userId);
  return { recoveryCodes, countsFrom: confirmed.countsFrom };
}

/**
 * Stores the app of a user who has none, and completes the login that demands it.
 *
 * @throws ServiceError as `confirmTotp` does
 */
export async function confirmTotpInLogin(
  call: Call,
  parts: SetUpParts,
  login: HeldLogin,
  confirmation: Confirmation,
): Promise<NewFactor & { readonly completion: Completion }> {
  const { held, intent } = login;
  const { userId } = held;
  const of = { userId, loginIntentId: intent.id };
  const age = { assurance: ONE_FACTOR, isVouchedFor: false };
  const { parameters, recoveryCodes } = await prepare(call, parts, of, confirmation, age);
  const [confirmed] = await call.run(storeTotpAndComplete, {
    ...parameters,
    ...heldParameters(call, confirmation.browser, login),
    ...noticeParameters(call, intent),
    noticeId: parameters.id,
    cutoffCount: null,
  });
  if (!confirmed?.isStored) throw new ServiceError('HELD_SIGN_IN_ENDED');
  call.notices?.wake();
  await removeIfErased(call, userId);
  const completion = await answerHeld(call, parts, confirmation.browser, login, confirmed);
  return { recoveryCodes, countsFrom: null, completion };
}

/** Checks the first code of the app. Its step is used up. */
async function prepare(
  call: Call,
  parts: SetUpParts,
  login: SetUpLogin,
  { browser, sealed, code }: Confirmation,
  age: Parameters<typeof ageParameters>[1],
) {
  const { userId } = login;
  const unconfirmed = openSecret(call, parts, browser, { login, sealed });
  const secret = unconfirmed && decodeBase32(unconfirmed.secret);
  if (!secret) throw new ServiceError('HELD_SIGN_IN_ENDED');
  const [clock] = await call.run(selectPresent, { ...BY_POSTGRES });
  // Equivalent: guard: it always tells the time
  if (!clock) throw new ServiceError('WRONG_SECOND_FACTOR');
  const lastStep = findTotpStep(secret, readLoginCode(code), clock.present);
  if (lastStep === undefined) throw new ServiceError('WRONG_SECOND_FACTOR');
  const id = randomUUID();
  const recoveryCodes = createRecoveryCodes();
  const ages = ageParameters(call, age);
  const parameters = {
    ...ages,
    userId,
    id,
    lastStep,
    sealed: parts.cipher.encrypt(unconfirmed.secret, { applicationId: userId, id }),
    emailChangedAt: unconfirmed.emailChangedAt,
    mayReplace: ages.addingAssurance >= TWO_FACTORS,
    digests: digestsOf(userId, recoveryCodes),
    now: call.now,
  };
  return { parameters, recoveryCodes };
}

const selectPresent = statement('select_time_of_set_up', { present: t.instant })`select ${statementInstant} as present`;

/** In hex. */
function digestsOf(userId: string, codes: readonly string[]): readonly string[] {
  return codes.map((code) => digestRecoveryCode(userId, code)?.toString('hex') ?? '');
}

/** Returns CTEs that give the user in the CTE `owner` new recovery codes, and remove all others. */
const newCodes = (from: SQL) => sql`codes_left as (
    delete from recovery_codes c using ${from} f where c.user_id = ${p.uuid('userId')}
  ), codes_made as (
    insert into recovery_codes (user_id, digest, created_at)
    select f.user_id, decode(digest, 'hex'), ${p.instant('now')} from ${from} f, unnest(${p.texts('digests')}) as digest
  )`;

/** CTEs that store the app of the user in the CTE `owner`. */
const stored = sql`secret as (
    insert into totp_secrets as t (user_id, id, sealed, last_step, counts_from, created_at)
    select users.id, ${p.uuid('id')}, ${p.bytes('sealed')}, ${p.bigint('lastStep')},
      ${countsFrom(isStrongEnough(sql.raw(String(TWO_FACTORS))))}, ${p.instant('now')}
    from users join owner on owner.id = users.id
    on conflict (user_id) do update set id = excluded.id, sealed = excluded.sealed, last_step = excluded.last_step,
      counts_from = excluded.counts_from, created_at = excluded.created_at, last_used_at = null
    where ${p.boolean('mayReplace')}
    returning t.user_id, t.counts_from
  ), ${newCodes(sql`secret`)}, marked as (
    update users u set has_second_factor = true from secret where u.id = secret.user_id
  ), ${noticesOf({
    kind: 'secondFactorAdded',
    // Equivalent: conjunct: both have the same user
    from: sql`secret join owner on owner.id = secret.user_id`,
    userId: sql`owner.id`,
    recipient: sql`owner.email`,
  })}`;

const isSameAddress = sql`users.email_changed_at is not distinct from ${p.instant('emailChangedAt')}`;

const storeTotp = statement('confirm_totp', { isStored: t.boolean, countsFrom: nullable(t.instant) })`
  with owner as (
    select id, email from users
    where ${isSignInAfterEveryCutoff(p.instant('completedAt'))} and ${isSignedInHere(p.instant('completedAt'))}
      and ${isStillSignedIn} and ${isSameAddress}
    for no key update
  ), ${stored}, ${auditEvent({ resource: sql`user_id`, from: sql`secret`, applicationId: noApplication })}
  select exists (select 1 from secret) as is_stored, (select counts_from from secret) as counts_from from owner`;

/** `isStrongEnough` refuses a user who has an app, and one whose app would be young. */
const storeTotpAndComplete = statement('confirm_totp_in_login', {
  ...COMPLETED_INTENT,
  completedAt: nullable(t.instant),
  isStored: t.boolean,
})`
  with ${completedFromHeld(
    sql`owner as (
    select id, email from users
    -- Not joined: where tables are distributed, no CTE can be read that locks rows and joins another. After a wait for
    -- what ends every sign-in, users has the new count, and live the old one.
    where id = ${p.uuid('userId')} and users.cutoff_count = (select live.cutoff_count from live) and ${isSameAddress}
      and ${isStrongEnough(sql.raw(String(TWO_FACTORS)))}
    for no key update
  ), ${stored}, factor as (
    select user_id from secret
  )`,
    sql``,
  )}
  select completed.*, exists (select 1 from secret) as is_stored from (select) as always left join completed on true`;

/** Replaces the recovery codes of a user, and returns the new ones. Undefined if the user has no app. */
export async function makeRecoveryCodes(call: Call, userId: string): Promise<readonly string[] | undefined> {
  const recoveryCodes = createRecoveryCodes();
  const digests = digestsOf(userId, recoveryCodes);
  const [made] = await call.run(replaceCodes, {
    userId,
    digests,
    now: call.now,
    cutoffCount: call.cutoffCount ?? null,
  });
  await removeIfErased(call, userId);
  return made && recoveryCodes;
}

const replaceCodes = statement('make_recovery_codes')`
  with owner as (
    select users.id as user_id from users where users.id = ${p.uuid('userId')} and ${isStillSignedIn}
      and exists (select 1 from totp_secrets where user_id = ${p.uuid('userId')})
    for no key update
  ), ${newCodes(sql`owner`)}, ${auditEvent({ resource: sql`user_id`, from: sql`owner`, applicationId: noApplication })}
  select from owner`;
