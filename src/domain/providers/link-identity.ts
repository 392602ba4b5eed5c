import { and, desc, gt } from 'drizzle-orm';
import { placeholders, type RowOf, type Statement, whereEqual } from '../../database/database.ts';
import { provedIdentities, userIdentities } from '../../database/identity-schema.ts';
import { p, statement, t } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { deleteIdentitiesOfDeleted } from './delete-identities-of-deleted.ts';

/** An identity that a browser has signed in with, and that no user has. */
export type ProvedIdentity = RowOf<typeof proved>;

const { id, provider, issuer, subject, email } = provedIdentities;
const proved = { id, provider, issuer, subject, email };

interface AtLogin {
  readonly applicationId: string;
  readonly loginIntentId: string;
  readonly browserDigest: Buffer;
}

/** Keeps an identity until the login ends. */
export async function keepProvedIdentity(
  { run, now }: Call,
  identity: AtLogin & ProvedIdentity & { readonly expiresAt: Date },
): Promise<void> {
  await run(insertProvedIdentity, { ...identity, createdAt: now });
}

/** Returns the latest identity of the provider that this browser has signed in with at this login. */
export async function findProvedIdentity(
  { run, now }: Call,
  where: AtLogin & { readonly provider: string },
): Promise<ProvedIdentity | undefined> {
  const [latest] = await run(selectProvedIdentity, { ...where, now });
  return latest;
}

/** Returns the identity that a login code is to link, if it is still known. */
export async function findProvedIdentityById(
  { run, now }: Call,
  where: AtLogin & { readonly id: string },
): Promise<ProvedIdentity | undefined> {
  const [found] = await run(selectProvedIdentityById, { ...where, now });
  return found;
}

/**
 * Gives the identity to a user who is active and has proved to have the e-mail address. Returns whether it is new.
 *
 * @throws ServiceError `Identity already linked` if another user has it
 */
export async function linkIdentity(
  call: Call,
  identity: Pick<ProvedIdentity, 'provider' | 'issuer' | 'subject'>,
  user: { readonly userId: string; readonly email: string },
): Promise<boolean> {
  const [linked] = await call.run(insertIdentity, { ...identity, ...user, now: call.now });
  if (!linked) {
    const [owner] = await call.run(selectOwner, { issuer: identity.issuer, subject: identity.subject });
    if (owner && owner.userId !== user.userId) throw new ServiceError('IDENTITY_ALREADY_LINKED');
    return false;
  }
  // A deletion that began meanwhile has not seen the row.
  await call.run(deleteIdentitiesOfDeleted, { userId: user.userId });
  return true;
}

const insertIdentity = statement('link_identity', { userId: t.uuid })`
  insert into user_identities (issuer, subject, user_id, provider, created_at)
  select ${p.text('issuer')}, ${p.text('subject')}, u.id, ${p.text('provider')}, ${p.instant('now')} from users u
  where u.id = ${p.uuid('userId')} and u.deleted_at is null and u.deactivated_at is null
    and lower(u.email) = lower(${p.text('email')})
  on conflict do nothing
  returning user_id`;

const selectOwner: Statement<{ userId: string }[]> = (db) =>
  db
    .select({ userId: userIdentities.userId })
    .from(userIdentities)
    .where(whereEqual(userIdentities, 'issuer', 'subject'))
    .prepare('select_identity_owner');

const insertProvedIdentity: Statement<unknown> = (db) =>
  db
    .insert(provedIdentities)
    .values(
      placeholders(
        'applicationId',
        'loginIntentId',
        'id',
        'browserDigest',
        'provider',
        'issuer',
        'subject',
        'email',
        'createdAt',
        'expiresAt',
      ),
    )
    .onConflictDoNothing()
    .prepare('insert_proved_identity');

const isLive = gt(provedIdentities.expiresAt, p.instant('now'));

const selectProvedIdentity: Statement<ProvedIdentity[]> = (db) =>
  db
    .select(proved)
    .from(provedIdentities)
    .where(and(whereEqual(provedIdentities, 'applicationId', 'loginIntentId', 'browserDigest', 'provider'), isLive))
    .orderBy(desc(provedIdentities.createdAt))
    .limit(1)
    .prepare('select_proved_identity');

const selectProvedIdentityById: Statement<ProvedIdentity[]> = (db) =>
  db
    .select(proved)
    .from(provedIdentities)
    .where(and(whereEqual(provedIdentities, 'applicationId', 'loginIntentId', 'browserDigest', 'id'), isLive))
    .prepare('select_proved_identity_by_id');
