import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { maySignIn } from '../access/has-access.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { isSameEmail } from '../users/find-user-by-email.ts';

/** What the user has proved to have at this login. The login completes only if it still belongs to the user. */
export interface Proved {
  readonly email?: string | null;
  readonly walletAddress?: string | null;
  /** Identifies, with the subject, an identity at a provider. */
  readonly issuer?: string | null;
  readonly subject?: string | null;
}

/** What a person has proved to have, as parameters of `isProvedUser`. */
export interface ProofParameters {
  readonly userId: string;
  readonly emails: readonly string[] | null;
  readonly walletAddress: string | null;
  readonly issuer: string | null;
  readonly subject: string | null;
}

/** The condition that `u` is the active user `userId`. */
export const isUserById = sql`u.id = ${p.uuid('userId')} and u.deleted_at is null and u.deactivated_at is null`;

/** The same, if the user still has what was proved. Parameters: all of `ProofParameters`. */
export const isProvedUser = sql`${isUserById}
        and (${p.texts('emails')} is null or ${isSameEmail(sql`u.email`)})
        and (${p.text('walletAddress')} is null or lower(u.wallet_address) = lower(${p.text('walletAddress')}))
        and (${p.text('issuer')} is null or exists (
          select 1 from user_identities d
          where d.issuer = ${p.text('issuer')} and d.subject = ${p.text('subject')} and d.user_id = u.id))`;

/** What somebody proves by the ID of a user alone. */
export const NOTHING_PROVED = { emails: null, walletAddress: null, issuer: null, subject: null };

/**
 * Call it after a refused sign-in to a restricted application.
 *
 * @throws ServiceError `Access not allowed` if the person has proved to be a user who may not enter the application
 */
export async function requireAccess(
  call: Pick<Call, 'run' | 'now'>,
  parameters: ProofParameters & { readonly applicationId: string },
): Promise<void> {
  if ((await findAccess(call, parameters)) === false) throw new ServiceError('ACCESS_NOT_ALLOWED');
}

/** Returns whether a user may enter a restricted application, or undefined without a user who has what was proved. */
export async function findAccess(
  { run, now }: Pick<Call, 'run' | 'now'>,
  parameters: ProofParameters & { readonly applicationId: string },
): Promise<boolean | undefined> {
  const [user] = await run(selectAccess, { ...parameters, now });
  return user?.hasAccess;
}

const selectAccess = statement('select_access', { hasAccess: t.boolean })`
  select ${maySignIn} as has_access from users u where ${isProvedUser}`;
