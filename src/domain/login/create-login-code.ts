import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { loginCodes } from '../../database/schema/login-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import { TWO_FACTORS } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, emailAddress, type Unchecked, uuid } from '../core/validation.ts';
import type { Browser, InBrowser } from '../sessions/browser.ts';
import { removeIfErased } from '../users/personal-data.ts';
import type { EmailLoginParts } from './complete-email-login.ts';
import { findAddressFacts } from './find-address-facts.ts';
import { ATTEMPTS, type StoredLoginCode } from './find-latest-code.ts';
import { findToLink, type ToLink } from './find-to-link.ts';
import {
  deriveLoginCode,
  digestLoginCode,
  LOGIN_CODE_MINUTES,
  type LoginCodeSettings,
  recoverLoginCode,
} from './login-code.ts';
import { type Asker, admissionOf, admitRepetition, refuseCode } from './login-code-limits.ts';
import { type LoginIntent, requireOpenIntent } from './login-intent.ts';
import { PERMIT, permits, permitsOf, settlePermits, takeEach, takenPermits } from './rate-limit.ts';

/** How often one code is sent at most. */
const MAX_SENDS = 3;

const rules = { loginIntentId: uuid, email: emailAddress };

export interface LoginCode {
  readonly email: string;
  /** Whether no user has the address and it may not sign up. */
  readonly isUnknown: boolean;
  /**
   * Whether to do all the work except sending: no user has the address and it may not sign up, or its owner has muted it
   * for strangers. Equal work takes equal time, which reveals neither.
   */
  readonly isDecoy: boolean;
  /** Why nothing is sent, for the terminal of a developer. */
  readonly decoyReason: string | undefined;
  readonly code: string;
  readonly intent: LoginIntent;
  readonly row: CodeRow;
}

export interface CodeRow {
  readonly applicationId: string;
  readonly loginIntentId: string;
  readonly id: string;
  /** Whether the latest e-mail with the code could not be sent. */
  readonly isUnsent: boolean;
}

export const ADDRESS_IS_MUTED = 'its owner has stopped e-mails for a day';

/** The facts about a code that the page shows. They reveal nothing about the address. */
export interface LoginCodeFacts {
  readonly digits: number;
  /** Seconds until the code may be sent again. Zero if it has been sent as often as it may be. */
  readonly wait: number;
}

/**
 * Returns a code for the e-mail address, valid for 10 minutes, for this intent and in this browser. A code that was
 * sent before is returned again while it is valid. An address without a user gets the same answers and takes the same
 * time. With `link`, the login by this code links the wallet, or the identity at a provider, that this browser has
 * proved to have.
 *
 * @throws ServiceError `Too many codes`; `Code sent too often` after three e-mails; `Code sent just now` with the seconds to
 * wait; and as `requireOpenIntent` does
 */
export async function createLoginCode(
  call: Call,
  { codes: settings, signUps }: Pick<EmailLoginParts, 'codes' | 'signUps'>,
  browser: Browser,
  request: Unchecked<keyof typeof rules> & { readonly link?: string },
): Promise<LoginCode & LoginCodeFacts> {
  const { loginIntentId, email } = check(request, rules);
  const { link = '' } = request;
  const intent = await requireOpenIntent(call, loginIntentId, 'email', TWO_FACTORS);
  const { applicationId } = intent;
  // Asked for users, too, so that the answer takes the same time.
  const refusal = signUps.findRefusal(intent, email);
  const inBrowser = { applicationId, loginIntentId, browserDigest: browser.digest };
  const proved = await findToLink(call, inBrowser, link);
  const { user, familiarity, hasMuted, latest } = await findAddressFacts(call, settings, browser, email, inBrowser);
  const login = { ...inBrowser, ...proved, email, userId: user?.id ?? null };
  const asker = { browser, email, familiarity };
  const { code, wait, ...row } =
    (await repeatLiveCode(call, settings, login, asker, latest)) ?? (await insertNewCode(call, settings, login, asker));
  const isUnknown = !user && refusal !== undefined;
  const decoyReason = hasMuted
    ? ADDRESS_IS_MUTED
    : isUnknown
      ? `${intent.applicationName} takes no sign-ups${refusal === 'allowSignUp' ? '' : ' from this domain'} (${refusal})`
      : undefined;
  // Runs without a user, too: otherwise the time would reveal whether the address has one.
  await removeIfErased(call, user?.id ?? randomUUID());
  return {
    email: user?.email ?? email,
    isUnknown,
    isDecoy: decoyReason !== undefined,
    decoyReason,
    code,
    intent,
    row: { applicationId, loginIntentId, ...row },
    digits: code.length,
    wait,
  };
}

interface EmailLogin extends InBrowser, ToLink {
  readonly email: string;
  readonly userId: string | null;
}

type SentLoginCode = Pick<CodeRow, 'id' | 'isUnsent'> & Pick<LoginCode, 'code'> & Pick<LoginCodeFacts, 'wait'>;

/** Counts another e-mail with the latest code. Returns undefined if it is no longer valid, or was for another login. */
async function repeatLiveCode(
  call: Call,
  settings: LoginCodeSettings,
  login: EmailLogin,
  asker: Asker,
  latest: StoredLoginCode | undefined,
): Promise<SentLoginCode | undefined> {
  const isLive = latest && latest.attempts < ATTEMPTS && latest.expiresAt > call.now;
  const isSame = ({ email, userId, walletAddress, identityId }: StoredLoginCode) =>
    email === login.email &&
    userId === login.userId &&
    walletAddress === login.walletAddress &&
    identityId === login.identityId;
  if (!isLive || !isSame(latest)) return undefined;
  const { id, codeDigest, isUnsent } = latest;
  const code = recoverLoginCode(settings.keys, id, codeDigest);
  if (!code) return undefined;
  const limit = MAX_SENDS * settings.limitFactor;
  const refuse = () => refuseRepeat(call.now, { ...latest, code }, limit);
  if (latest.sends >= limit || secondsUntilRepeat(call.now, latest) > 0) throw refuse();
  await admitRepetition(call, settings, asker);
  const [sent] = await call.run(countSend, { ...login, id, limit, now: call.now });
  // A concurrent request has just had the code sent.
  if (!sent) throw refuse();
  const sends = latest.sends + 1;
  return { id, code, isUnsent, wait: sends < limit ? secondsUntilRepeat(call.now, { ...latest, sends }) : 0 };
}

/**
 * Admits a new code, and stores it.
 *
 * @throws ServiceError `Too many codes`, with the minutes to wait
 */
export async function insertNewCode(
  call: Call,
  settings: LoginCodeSettings,
  login: EmailLogin,
  asker: Asker,
): Promise<SentLoginCode> {
  const { keys } = settings;
  const { buckets, required, length, longer } = admissionOf(settings, asker, login.applicationId);
  const id = randomUUID();
  const [short, long] = [length, longer].map((digits) => deriveLoginCode(keys, id, digits)) as [string, string];
  const insert = (code: string) =>
    call.run(insertCode, {
      ...login,
      ...permitsOf(call, buckets, required),
      id,
      codeDigest: digestLoginCode(keys, id, code),
      longDigest: digestLoginCode(keys, id, long),
      createdAt: call.now,
      expiresAt: new Date(call.now.getTime() + LOGIN_CODE_MINUTES * 60_000),
    });
  const takenBefore = await takeEach(call, buckets, required);
  const permits = takenBefore ?? (await insert(short));
  const full = await settlePermits(call, buckets, permits, required);
  if (full) throw refuseCode(full);
  const code = permits.every(({ isTaken }) => isTaken) ? short : long;
  // Equivalent: guard, call: only where tables are distributed
  if (takenBefore) await insert(code);
  return { id, code, isUnsent: false, wait: secondsUntilRepeat(call.now, { createdAt: call.now, sends: 1 }) };
}

/** Each e-mail gets so long to arrive, counted from the creation of the code, before it may be sent again. */
const INTERVAL_SECONDS = 30;

interface SentCode {
  readonly code: string;
  readonly createdAt: Date;
  /** How many e-mails with the code were sent. */
  readonly sends: number;
}

function secondsUntilRepeat(now: Date, { createdAt, sends }: Omit<SentCode, 'code'>): number {
  const age = (now.getTime() - createdAt.getTime()) / 1_000;
  return Math.max(0, Math.ceil(sends * INTERVAL_SECONDS - age));
}

/**
 * Whether the code may be sent again. Being a condition of the update, it refuses one of two concurrent requests. It
 * compares a difference: the sum of an instant and an interval depends on a time zone, which an update must not.
 */
const isDueForRepeat = sql`
    ${p.instant('now')} - created_at >= sends * interval '${sql.raw(String(INTERVAL_SECONDS))} s'`;

/** Returns the error for a code that was sent `limit` times, or too recently. */
function refuseRepeat(now: Date, sent: SentCode, limit: number): ServiceError {
  const digits = sent.code.length;
  if (sent.sends >= limit) return new ServiceError('CODE_SENT_TOO_OFTEN', { figures: { digits } });
  // Zero if a concurrent request has sent the code since this row was read.
  const wait = secondsUntilRepeat(now, sent) || INTERVAL_SECONDS;
  return new ServiceError('CODE_SENT_JUST_NOW', { figures: { digits, wait } });
}

const countSend = statement('count_login_code_send', { id: loginCodes.id })`
  update login_codes set sends = sends + 1
  where application_id = ${p.uuid('applicationId')} and login_intent_id = ${p.uuid('loginIntentId')}
    and id = ${p.uuid('id')} and sends < ${p.integer('limit')} and ${isDueForRepeat}
  returning id`;

const intoCodes = sql`login_codes (application_id, login_intent_id, id, browser_digest, user_id, email, wallet_address,
  identity_id, created_at, expires_at, code_digest)`;
const valuesOfCode = sql`${p.uuid('applicationId')}, ${p.uuid('loginIntentId')}, ${p.uuid('id')}, ${p.bytes('browserDigest')},
  ${p.uuid('userId')}, ${p.text('email')}, ${p.text('walletAddress')}, ${p.uuid('identityId')}, ${p.instant('createdAt')},
  ${p.instant('expiresAt')}`;

/**
 * Without a permit of the last bucket, unless it is required, the code is a longer one. The second form takes no permits:
 * `takeEach` has taken them.
 */
const insertCode = statement('insert_login_code', PERMIT)`
  with ${takenPermits}, inserted as (
    insert into ${intoCodes}
    select ${valuesOfCode},
      case when count(taken.key) = count(*) then ${p.bytes('codeDigest')} else ${p.bytes('longDigest')} end
    from wanted left join taken on taken.key = wanted.key
    having count(taken.key) filter (where position <= ${p.integer('required')}) = ${p.integer('required')}
  ) ${permits}`.ifDistributed`
  insert into ${intoCodes} values (${valuesOfCode}, ${p.bytes('codeDigest')}) returning false as is_full, true as is_taken`;
