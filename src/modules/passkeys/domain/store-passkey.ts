import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../../database/sql/template.ts';
import { auditEvent } from '../../../domain/audit/audit-event.ts';
import { PHISHING_RESISTANT } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { check, text, type Unchecked } from '../../../domain/core/validation.ts';
import { requireRecentSignIn, signInRules } from '../../../domain/login/recent-sign-in.ts';
import { noticeParameters, noticesOf } from '../../../domain/notices/store-notice.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { isSignedInHere } from '../../../domain/sessions/browser-cutoffs.ts';
import { isSignInAfterEveryCutoff } from '../../../domain/sessions/cutoffs.ts';
import { ageParameters, countsFrom, isCounting, isStrongEnough } from '../../../domain/users/counts-from.ts';
import { isStillSignedIn } from '../../../domain/users/still-signed-in.ts';
import { parseCredential, requireOwnRequest } from './credential.ts';
import type { RelyingParty } from './relying-party.ts';
import { verifyCreation } from './verify-passkey.ts';

const rules = { ...signInRules, credential: text({ max: 8_192 }) };

/**
 * Stores a new passkey of the user who has just completed this intent in this browser. The passkey has the name of its
 * password manager, or the default name if that is not known.
 *
 * @throws ServiceError `Invalid passkey`, `Passkey already exists`, `Too many passkeys`, `Login intent expired` (the
 * sign-in was revoked), and as `requireRecentSignIn` does
 */
export async function storePasskey(
  call: Call,
  relyingParty: RelyingParty,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
  defaultNameIn: (locale: string | null) => string,
): Promise<void> {
  const { loginIntentId, credential: json } = check(request, rules);
  const signIn = await requireRecentSignIn(call, browser, { loginIntentId });
  const { userId, applicationId, completedAt, cutoffCount } = signIn;
  const { locale, assurance, passkeyId, vouchedUserId } = signIn.intent;
  const credential = parseCredential(json);
  const use = { purpose: 'passkey create', loginIntentId, browser, userId } as const;
  requireOwnRequest(credential, relyingParty, use, call.now);
  const made = await verifyCreation(credential, relyingParty);
  const { rpId } = relyingParty;
  const browserDigest = browser.digest;
  const ids = { applicationId, userId, id: randomUUID(), rpId, completedAt, cutoffCount, browserDigest };
  const name = nameOfAuthenticator(made.aaguid) ?? defaultNameIn(locale);
  const { transports } = credential;
  // The link in the notice finds the passkey by the ID of the notice.
  const notice = { ...noticeParameters(call, { applicationId, locale }), noticeId: ids.id };
  const age = ageParameters(call, { assurance, isVouchedFor: vouchedUserId === userId });
  const [inserted] = await call.run(insertPasskey, {
    ...ids,
    ...made,
    ...notice,
    ...age,
    usedPasskeyId: passkeyId,
    transports,
    name,
    now: call.now,
  });
  if (!inserted) return refuse(call, { ...ids, credentialId: made.credentialId });
  const [late] = await call.run(withdrawPasskey, ids);
  if (late) return refuse(call, { ...ids, credentialId: null });
  call.notices?.wake();
}

/** Looks up why the passkey was not stored. @throws ServiceError with that reason, always */
async function refuse(
  { run }: Call,
  { userId, rpId, credentialId }: { userId: string; rpId: string; credentialId: Buffer | null },
): Promise<never> {
  const [why] = await run(selectRefusal, { userId, rpId, credentialId });
  if (why?.isTaken) throw new ServiceError('PASSKEY_ALREADY_EXISTS');
  throw new ServiceError(why?.isFull ? 'TOO_MANY_PASSKEYS' : 'LOGIN_INTENT_EXPIRED');
}

/** Whether the sign-in still entitles the user to add passkeys: no revocation and no sign-out has ended it. */
const mayAdd = sql`${isSignInAfterEveryCutoff(p.instant('completedAt'))}
  and ${isSignedInHere(p.instant('completedAt'))}`;

const count = sql`(
  select count(*) from passkeys where user_id = ${p.uuid('userId')} and rp_id = ${p.text('rpId')})`;
/** The limit per user and relying party. */
const MAX_PASSKEYS = 10;
const most = sql.raw(String(MAX_PASSKEYS));

/** Passkeys of another relying party are of no use, so they make none young. */
const countsInFullFrom = countsFrom(isStrongEnough(sql.raw(String(PHISHING_RESISTANT)), sql`${count} > 0`));

/** To operators even the first passkey is young, and only one that opens the console adds another that does. */
const countsForOperatorsFrom = countsFrom(sql`${p.integer('addingAssurance')} >= 3 and exists (
      select 1 from passkeys k where k.user_id = ${p.uuid('userId')} and k.id = ${p.uuid('usedPasskeyId')}
        and ${isCounting(sql`k.counts_for_operators_from`)})`);

const insertPasskey = statement('insert_passkey')`
  with owner as (
    select id from users where id = ${p.uuid('userId')} and ${isStillSignedIn} for no key update
  ), inserted as (
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
      is_backup_eligible, is_backed_up, is_user_verified, name, created_at, counts_from, counts_for_operators_from)
    select users.id, ${p.uuid('id')}, ${p.bytes('credentialId')}, ${p.text('rpId')}, ${p.bytes('publicKey')},
      ${p.bigint('signCount')}, ${p.texts('transports')}, ${p.uuid('aaguid')}, ${p.boolean('isBackupEligible')},
      ${p.boolean('isBackedUp')}, ${p.boolean('isUserVerified')}, ${p.text('name')}, ${p.instant('now')},
      ${countsInFullFrom}, ${countsForOperatorsFrom}
    -- Equivalent: conjunct: the condition below names the same user
    from users join owner on owner.id = users.id
    where ${mayAdd} and ${count} < ${most}
    on conflict do nothing
    returning id, user_id, name
  ), ${auditEvent({ resource: sql`id`, from: sql`inserted` })},
  ${noticesOf({
    kind: 'passkeyAdded',
    from: sql`inserted join users on users.id = inserted.user_id`,
    userId: sql`users.id`,
    recipient: sql`users.email`,
    value: sql`inserted.name`,
  })}
  select from inserted`;

/**
 * Removes the passkey again if a revocation in the application or other passkeys were committed meanwhile: concurrent
 * statements do not see each other's rows, so each checks again afterwards. If several passkeys exceed the limit at once, all may be
 * removed.
 */
const withdrawPasskey = statement('withdraw_passkey')`
  with withdrawn as (
    delete from passkeys k
    where k.id = ${p.uuid('id')}
      -- Equivalent: conjunct: the ID is its own, and an index has both
      and k.user_id = ${p.uuid('userId')}
      and (${count} > ${most} or not exists (select 1 from users where ${mayAdd}))
    returning k.id
  )
  select from withdrawn`;

const selectRefusal = statement('select_passkey_refusal', { isTaken: t.boolean, isFull: t.boolean })`
  select exists (select 1 from passkeys where credential_id = ${p.bytes('credentialId')}) as is_taken,
    ${count} >= ${most} as is_full`;

/** Names of password managers by AAGUID, which each manager publishes. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['fbfc3007-154e-4ecc-8c0b-6e020557d7bd', 'Apple Passwords'],
  ['dd4ec289-e01d-41c9-bb89-70fa845d4bf2', 'Apple Passwords'],
  ['ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4', 'Google Password Manager'],
  ['08987058-cadc-4b81-b6e1-30de50dcbe96', 'Windows Hello'],
  ['9ddd1817-af5a-4672-a2b9-3e3dd95000a9', 'Windows Hello'],
  ['6028b017-b1d4-4c02-b4b3-afcdafc96bb2', 'Windows Hello'],
  ['bada5566-a7aa-401f-bd96-45619a55120d', '1Password'],
  ['d548826e-79b4-db40-a3d8-11116f7e8349', 'Bitwarden'],
  ['531126d6-e717-415c-9320-3d9aa6981239', 'Dashlane'],
  ['b78a0a55-6ef8-d246-a042-ba0f6d55050c', 'LastPass'],
  ['b84e4048-15dc-4dd0-8640-f4f60813c8af', 'NordPass'],
  ['50726f74-6f6e-5061-7373-50726f746f6e', 'Proton Pass'],
  ['0ea242b4-43c4-4a1b-8b17-dd6d0b6baec6', 'Keeper'],
  ['53414d53-554e-4700-0000-000000000000', 'Samsung Pass'],
]);

/** Returns the name of the password manager with this AAGUID, or undefined if it is not known. */
function nameOfAuthenticator(aaguid: string): string | undefined {
  return NAMES.get(aaguid);
}
