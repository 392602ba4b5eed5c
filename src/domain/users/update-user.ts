import { sql } from 'drizzle-orm';
import { isUniqueViolation } from '../../database/errors.ts';
import { users } from '../../database/schema.ts';
import { columnsOf, p, statement, t } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { changedValues, changeParameters, changes } from '../changes.ts';
import { type ErrorReason, ServiceError } from '../errors.ts';
import { createVersionReader, hasExpectedVersion, requireExpected, versionParameter } from '../row-version.ts';
import { rule } from '../rule.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../webhooks/insert-message.ts';
import { userMessage } from '../webhooks/user-messages.ts';
import { profileRules, type User, userColumns } from './user.ts';

/** Null clears the wallet address. */
const walletAddress = rule(profileRules.walletAddress.schema, (value) => profileRules.walletAddress(value ?? ''), {
  isNullable: true,
});
const changeRules = changes({ ...profileRules, walletAddress });
const rules = { userId: uuid, ...changeRules };

/**
 * Changes a user's profile and returns the user.
 *
 * @throws ServiceError `User not found`, `Changed meanwhile`, `User already exists`
 */
export async function updateUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { userId, ...changes } = check(request, rules);
  const changed = await changeUser(call, { userId, email: null }, changes, 'USER_ALREADY_EXISTS');
  if (!changed) throw new ServiceError('USER_NOT_FOUND');
  return changed.user;
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
): Promise<boolean> {
  const changes = { email: undefined, name: undefined, profileImage: undefined, walletAddress };
  const changed = await changeUser(call, target, changes, 'WALLET_ALREADY_LINKED');
  return changed?.isChanged ?? false;
}

/**
 * Changes a user, and inserts a message for each application of the user. Returns the user, and whether anything has
 * changed. Values that the user has already change nothing, and cause no message. With `email`, the user changes only
 * if the user is active and has this address.
 *
 * @throws ServiceError `takenReason` if another user has the e-mail or wallet address
 */
async function changeUser(
  call: Call,
  { userId, email: provedEmail }: { userId: string; email: string | null },
  changes: Readonly<Record<keyof typeof changeRules, unknown>>,
  takenReason: ErrorReason,
): Promise<{ readonly user: User; readonly isChanged: boolean } | undefined> {
  const { run, now, onMessage } = call;
  const parameters = { userId, provedEmail, now, ...versionParameter(call), ...changeParameters(changes) };
  const [changed] = await run(updateChanged, parameters).catch((error: unknown) => {
    throw isUniqueViolation(error) ? new ServiceError(takenReason) : error;
  });
  if (!changed) return undefined;
  requireExpected(changed);
  if (changed.isTaken) throw new ServiceError(takenReason);
  announce(onMessage, changed);
  return changed;
}

const { email, name, profileImage, walletAddress: wallet } = users;
const CHANGEABLE = { email, name, profileImage, walletAddress: wallet };

/**
 * Whether another user has one of the addresses. Checked first, because Postgres writes the address of a unique
 * violation into its log. One of two concurrent changes may still violate the index.
 */
const isTaken = sql`(
  exists (
    select 1 from users where lower(email) = lower(${p.text('email')}) and deleted_at is null
      and id <> ${p.uuid('userId')})
  or exists (
    select 1 from users where lower(wallet_address) = lower(${p.text('walletAddress')}) and wallet_address <> ''
      and deleted_at is null and id <> ${p.uuid('userId')}))`;

const updateChanged = statement('update_user', {
  user: userColumns,
  isExpected: t.boolean,
  isTaken: t.boolean,
  isChanged: t.boolean,
  ...HAS_MESSAGES,
})`
  with wanted as (
    select id, created_at, deactivated_at, ${changedValues(CHANGEABLE)}, ${isTaken} as is_taken,
      ${hasExpectedVersion(CHANGEABLE)} as is_expected from users
    where id = ${p.uuid('userId')} and deleted_at is null and (
      ${p.text('provedEmail')} is null or deactivated_at is null and lower(email) = lower(${p.text('provedEmail')}))
    for no key update
  ), changed as (
    update users u set (${columnsOf(CHANGEABLE)}) = row(${columnsOf(CHANGEABLE, 'w')}),
      email_verified_at = case when lower(u.email) = lower(w.email) then u.email_verified_at end
    from wanted w
    where u.id = w.id and w.is_expected and not w.is_taken
      and row(${columnsOf(CHANGEABLE, 'u')}) is distinct from row(${columnsOf(CHANGEABLE, 'w')})
    returning ${columnsOf(userColumns, 'u')}
  ), ${auditEvent({ resource: sql`id`, from: sql`changed`, applicationId: noApplication })},
  ${messagesOf(userMessage('user.updated', sql`changed`))}
  select ${columnsOf(userColumns)}, is_expected, is_taken, exists (select 1 from changed) as is_changed, ${notified}
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
