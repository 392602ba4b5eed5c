import { type SQL, sql } from 'drizzle-orm';
import { users } from '../../database/schema/schema.ts';
import { constraintOf, isUniqueViolation } from '../../database/sql/errors.ts';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import {
  changedValues,
  changeParameters,
  changes,
  createVersionReader,
  hasExpectedVersion,
  requireExpected,
  versionParameter,
} from '../core/changes.ts';
import { type ErrorReason, ServiceError } from '../core/errors.ts';
import { rule } from '../core/rule.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { type NoticeOrigin, noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { userMessage } from '../outbox/user-messages.ts';
import { isSameEmail, spellingsOf } from './find-user-by-email.ts';
import { cutoffParameter, isStillSignedIn } from './still-signed-in.ts';
import { profileRules, type User, userColumns } from './user.ts';

/** Null clears the wallet address. */
const walletAddress = rule(profileRules.walletAddress.schema, (value) => profileRules.walletAddress(value ?? ''), {
  isNullable: true,
});
const changeRules = changes({ ...profileRules, walletAddress });
const rules = { userId: uuid, ...changeRules };
type Profile = Readonly<Record<keyof typeof changeRules, unknown>>;
const UNCHANGED = Object.fromEntries(Object.keys(changeRules).map((name) => [name, undefined])) as Profile;

/**
 * Changes a user's profile and returns the user. Another e-mail address voids the links that undo earlier changes of it.
 *
 * @throws ServiceError `User not found`, `Changed meanwhile`, `User already exists`, `External ID already exists`
 */
export async function updateUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId, ...changes } = check(request, rules);
  const changed = await changeUser(call, { userId }, changes, 'USER_ALREADY_EXISTS');
  if (!changed) throw new ServiceError('USER_NOT_FOUND');
  return changed.user;
}

export interface EmailChange {
  readonly from: string;
  readonly to: string;
  /** Differs from change to change of a user. */
  readonly at: Date;
}

/**
 * Gives the user the e-mail address that the user has proved to own. Links that undo earlier changes stay valid:
 * otherwise, an intruder could void them by a second change.
 *
 * @throws ServiceError `User not found`, `User already exists`
 */
export async function changeOwnEmail(
  call: Call,
  { userId, email }: { readonly userId: string; readonly email: string },
): Promise<EmailChange> {
  const target = { userId, keepsUndoLinks: true };
  const changed = await changeUser(call, target, { ...UNCHANGED, email }, 'USER_ALREADY_EXISTS');
  if (!changed) throw new ServiceError('USER_NOT_FOUND');
  return { from: changed.formerEmail, to: changed.user.email, at: changed.emailChangedAt };
}

/**
 * Gives the user the wallet, in place of any other, if the user is active and still has the e-mail address. Returns
 * whether that has changed the user.
 *
 * @throws ServiceError `Wallet already linked` if another user has the wallet
 */
export async function linkWallet(
  call: Call,
  { walletAddress, ...target }: { readonly userId: string; readonly email: string; readonly walletAddress: string },
  origin?: NoticeOrigin,
): Promise<boolean> {
  const changed = await changeUser(call, target, { ...UNCHANGED, walletAddress }, 'WALLET_ALREADY_LINKED', origin);
  return changed?.isChanged ?? false;
}

/**
 * Changes a user, and inserts a message for each application of the user. The user gets notices of another e-mail address
 * and of another wallet, at the former address. Returns the user, and whether anything has
 * changed. Values that the user has already change nothing, and cause no message. With `email`, the user changes only
 * if the user is active and has this address. Unless `keepsUndoLinks`, another e-mail address voids the links that undo
 * earlier changes of it.
 *
 * @throws ServiceError `takenReason` if another user has the e-mail or wallet address
 */
async function changeUser(
  call: Call,
  target: { readonly userId: string; readonly email?: string; readonly keepsUndoLinks?: boolean },
  changes: Profile,
  takenReason: ErrorReason,
  origin?: NoticeOrigin,
) {
  const { run, now, notices, onMessage } = call;
  const { userId, email: provedEmail = null, keepsUndoLinks = false } = target;
  const parameters = {
    userId,
    provedEmails: spellingsOf(provedEmail).emails,
    ...spellingsOf(changes.email as string | undefined),
    keepsUndoLinks,
    now,
    ...noticeParameters(call, origin),
    ...versionParameter(call),
    ...cutoffParameter(call),
    ...changeParameters(changes),
  };
  const [changed] = await run(updateChanged, parameters).catch((error: unknown) => {
    if (!isUniqueViolation(error)) throw error;
    const isExternalId = constraintOf(error) === 'users_external_id_key';
    throw new ServiceError(isExternalId ? 'EXTERNAL_ID_ALREADY_EXISTS' : takenReason);
  });
  if (!changed) return undefined;
  requireExpected(changed);
  if (changed.isExternalIdTaken) throw new ServiceError('EXTERNAL_ID_ALREADY_EXISTS');
  if (changed.isTaken) throw new ServiceError(takenReason);
  announce(onMessage, changed);
  notices?.wake();
  return changed;
}

const { email, name, profileImage, walletAddress: wallet, externalId, attributes } = users;
const CHANGEABLE = { email, name, profileImage, walletAddress: wallet, externalId, attributes };

/**
 * Whether another user has one of the addresses. Checked first, because Postgres writes the address of a unique
 * violation into its log. One of two concurrent changes may still violate the index.
 */
const isTaken = sql`(
  exists (
    select 1 from users where ${isSameEmail(sql`email`)} and deleted_at is null and id <> ${p.uuid('userId')})
  or exists (
    select 1 from users where lower(wallet_address) = lower(${p.text('walletAddress')}) and wallet_address <> ''
      and deleted_at is null and id <> ${p.uuid('userId')}))`;

/** The same for the external ID. */
const isExternalIdTaken = sql`exists (
  select 1 from users where external_id = ${p.text('externalId')} and deleted_at is null and id <> ${p.uuid('userId')})`;

const changedFromWanted = sql`changed cross join wanted`;
const toFormerAddress = { userId: sql`changed.id`, recipient: sql`wanted.former_email` };

/** The undo link of the notice needs the exact instant of the change. */
const addressNotice = {
  ...toFormerAddress,
  from: sql`${changedFromWanted} where wanted.former_email <> changed.email`,
  value: sql`changed.email`,
  at: sql`wanted.email_changed_at`,
};

const isOtherWallet = sql`lower(wanted.former_wallet_address) <> lower(wanted.wallet_address)`;

/** @param column the wallet that the user had before the change, or has now */
function walletNotice(column: 'former_wallet_address' | 'wallet_address') {
  const wallet = sql.raw(`wanted.${column}`);
  const from = sql`${changedFromWanted} where ${isOtherWallet} and ${wallet} <> ''`;
  return { ...toFormerAddress, from, value: wallet };
}

/**
 * The instant of a change, from the locked row of the user. Two changes in one millisecond, or on replicas whose clocks
 * differ, keep their order. Not for the expression after `set`, which must not depend on a time zone. Parameter: now.
 */
export const nextEmailChange = sql`greatest(${p.instant('now')}, email_changed_at + interval '1 millisecond')`;

/** Returns the range of instants from one to the other, both included. An open end is null. */
export function rangeOf(from: SQL, until: SQL): SQL {
  return sql`tstzmultirange(tstzrange(${from}, ${until}, '[]'))`;
}

const updateChanged = statement('update_user', {
  user: userColumns,
  formerEmail: t.text,
  emailChangedAt: t.instant,
  isExpected: t.boolean,
  isTaken: t.boolean,
  isExternalIdTaken: t.boolean,
  isChanged: t.boolean,
  ...HAS_MESSAGES,
})`
  with wanted as (
    select id, created_at, deactivated_at, ${changedValues(CHANGEABLE)}, email as former_email,
      wallet_address as former_wallet_address, ${nextEmailChange} as email_changed_at, ${isTaken} as is_taken,
      ${isExternalIdTaken} as is_external_id_taken, ${hasExpectedVersion(CHANGEABLE)} as is_expected
    from users
    where id = ${p.uuid('userId')} and deleted_at is null and ${isStillSignedIn} and (
      ${p.texts('provedEmails')} is null or deactivated_at is null and ${isSameEmail(sql`email`, 'provedEmails')})
    for no key update
  ), changed as (
    update users u set (${columnsOf(CHANGEABLE)}) = row(${columnsOf(CHANGEABLE, 'w')}),
      email_verified_at = case when u.email = w.email or ${isSameEmail(sql`u.email`)} then u.email_verified_at end,
      email_changed_at = case when u.email = w.email then u.email_changed_at else w.email_changed_at end,
      wallet_linked_at = case when u.wallet_address = w.wallet_address then u.wallet_linked_at
        when ${p.texts('provedEmails')} is not null then ${p.instant('now')} end,
      void_undo_links = case when u.email = w.email or ${p.boolean('keepsUndoLinks')} then u.void_undo_links
        else ${rangeOf(sql`null`, sql`w.email_changed_at`)} end
    from wanted w
    where u.id = w.id and w.is_expected and not w.is_taken and not w.is_external_id_taken
      and row(${columnsOf(CHANGEABLE, 'u')}) is distinct from row(${columnsOf(CHANGEABLE, 'w')})
    returning ${columnsOf(userColumns, 'u')}
  ), kept as (
    -- The user is more than an invitation now, which no longer takes the user along.
    update invitations v set created_user = false from changed c where v.user_id = c.id and v.created_user
  ), held_ended as (
    delete from held_sign_ins h using ${changedFromWanted}
    where h.user_id = changed.id and h.method = 'wallet' and ${isOtherWallet}
  ), ${auditEvent({ resource: sql`id`, from: sql`changed`, applicationId: noApplication })},
  ${noticesOf(
    { ...addressNotice, kind: 'addressChanged', from: sql`${addressNotice.from} and ${p.boolean('keepsUndoLinks')}` },
    {
      ...addressNotice,
      kind: 'addressReplaced',
      from: sql`${addressNotice.from} and not ${p.boolean('keepsUndoLinks')}`,
    },
    { ...walletNotice('former_wallet_address'), kind: 'walletRemoved' },
    { ...walletNotice('wallet_address'), kind: 'walletLinked' },
  )},
  ${messagesOf(userMessage('user.updated', sql`changed`))}
  select ${columnsOf(userColumns)}, former_email, email_changed_at, is_expected, is_taken, is_external_id_taken,
    exists (select 1 from changed) as is_changed, ${notified}
  from wanted`;

const readVersion = createVersionReader(
  'select_user_version',
  CHANGEABLE,
  sql`users where id = ${p.uuid('userId')} and deleted_at is null`,
);

/** Returns the version for `ifVersion` of a later `updateUser`, or undefined if there is no such user. */
export function readUserVersion(call: Call, request: Unchecked<'userId'>): Promise<string | undefined> {
  return readVersion(call, check(request, { userId: uuid }));
}
