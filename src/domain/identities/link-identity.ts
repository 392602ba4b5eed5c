import { sql } from 'drizzle-orm';
import { placeholdersOf, type Statement, whereEqual } from '../../database/pool/database.ts';
import { provedIdentities, userIdentities } from '../../database/schema/identity-schema.ts';
import { p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { TWO_FACTORS } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { type NoticeOrigin, noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { type InBrowser, isInBrowser } from '../sessions/browser.ts';
import { type AddingSignIn, ageParameters, countsFrom, isStrongEnough } from '../users/counts-from.ts';
import { isSameEmail, spellingsOf } from '../users/find-user-by-email.ts';
import { cutoffParameter, isStillSignedIn } from '../users/still-signed-in.ts';
import { isActiveUser } from '../users/user.ts';
import { deleteIdentitiesOfDeleted } from './delete-identity.ts';

/** An identity that a browser has proved to have, and that no user has yet. */
export type ProvedIdentity = RowOfType<typeof proved>;

const { id, provider, issuer, subject, email } = provedIdentities;
const proved = { id, provider, issuer, subject, email };

/** Keeps an identity until the login expires. */
export async function keepProvedIdentity(
  { run, now }: Call,
  identity: InBrowser & ProvedIdentity & { readonly expiresAt: Date },
): Promise<void> {
  await run(insertProvedIdentity, { ...identity, createdAt: now });
}

/** Returns the latest identity at the provider that this browser has proved to have at this login. */
export async function findProvedIdentity(
  { run, now }: Call,
  where: InBrowser & { readonly provider: string },
): Promise<ProvedIdentity | undefined> {
  const [latest] = await run(selectProvedIdentity, { ...where, now });
  return latest;
}

/** Returns undefined if the identity has expired, or belongs to another login or browser. */
export async function findProvedIdentityById(
  { run, now }: Call,
  where: InBrowser & { readonly id: string },
): Promise<ProvedIdentity | undefined> {
  const [found] = await run(selectProvedIdentityById, { ...where, now });
  return found;
}

/** The sign-in within which an identity is linked. */
interface Linking extends AddingSignIn {
  /** The highest level of sign-ins with the identity. Two factors, unless the provider counts for more. */
  readonly level?: number;
  readonly origin?: NoticeOrigin;
}

/**
 * Links the identity to the user if the user is active and still has the e-mail address. Returns whether the user has
 * the identity now, also if that is not new.
 *
 * @throws ServiceError `Identity already linked` if another user has it
 */
export async function linkIdentity(
  call: Call,
  identity: Pick<ProvedIdentity, 'provider' | 'issuer' | 'subject'>,
  user: { readonly userId: string; readonly email: string },
  { level = TWO_FACTORS, origin, ...adding }: Linking,
): Promise<boolean> {
  const { userId, email } = user;
  const parameters = {
    ...identity,
    ...spellingsOf(email),
    ...cutoffParameter(call),
    ...noticeParameters(call, origin),
    ...ageParameters(call, adding),
    level,
    userId,
    now: call.now,
  };
  const [linked] = await call.run(insertIdentity, parameters);
  if (!linked) {
    const [owner] = await call.run(selectOwner, { issuer: identity.issuer, subject: identity.subject });
    if (owner && owner.userId !== user.userId) throw new ServiceError('IDENTITY_ALREADY_LINKED');
    return owner !== undefined;
  }
  call.notices?.wake();
  // A concurrent deletion of the user does not see the row.
  await call.run(deleteIdentitiesOfDeleted, { userId: user.userId });
  return true;
}

const insertIdentity = statement('link_identity', { userId: t.uuid })`
  with owner as (
    select id, email, ${countsFrom(isStrongEnough(p.integer('level')))} as counts_from from users
    where id = ${p.uuid('userId')} and ${isActiveUser} and ${isSameEmail(sql`email`)}
      and ${isStillSignedIn}
    for no key update
  ), linked as (
    insert into user_identities (issuer, subject, user_id, provider, created_at, counts_from)
    select ${p.text('issuer')}, ${p.text('subject')}, id, ${p.text('provider')}, ${p.instant('now')}, counts_from from owner
    on conflict do nothing
    returning user_id, provider
  ), ${noticesOf({
    kind: 'identityLinked',
    from: sql`linked cross join owner`,
    userId: sql`owner.id`,
    recipient: sql`owner.email`,
    value: sql`linked.provider`,
  })}
  select user_id from linked`;

const selectOwner: Statement<{ userId: string }[]> = (db) =>
  db
    .select({ userId: userIdentities.userId })
    .from(userIdentities)
    .where(whereEqual(userIdentities, 'issuer', 'subject'))
    .prepare('select_identity_owner');

const insertProvedIdentity: Statement<unknown> = (db) =>
  db
    .insert(provedIdentities)
    .values(placeholdersOf(provedIdentities))
    .onConflictDoNothing()
    .prepare('insert_proved_identity');

const selectProved = sql`
  select id, provider, issuer, subject, email from proved_identities
  where ${isInBrowser} and expires_at > ${p.instant('now')}`;

const selectProvedIdentity = statement('select_proved_identity', proved)`
  ${selectProved} and provider = ${p.text('provider')} order by created_at desc
  -- Equivalent: limit: the first row is the answer
  limit 1`;

const selectProvedIdentityById = statement('select_proved_identity_by_id', proved)`
  ${selectProved} and id = ${p.uuid('id')}`;
