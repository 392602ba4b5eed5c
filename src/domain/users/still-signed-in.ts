import { sql } from 'drizzle-orm';
import { users } from '../../database/schema/schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';

/**
 * The condition that no cut-off has ended every sign-in of the user since the caller found the user signed in. Only for
 * a statement that locks the row of `users`: of the tables of cut-offs, a statement that has waited sees old rows.
 * Parameter: `cutoffParameter`.
 */
export const isStillSignedIn = sql`users.cutoff_count = coalesce(${p.integer('cutoffCount')}, users.cutoff_count)`;

export function cutoffParameter({ cutoffCount }: Call): { readonly cutoffCount: number | null } {
  return { cutoffCount: cutoffCount ?? null };
}

/**
 * Returns the call for changes by the link in a notice of this instant. They are refused if something ends every sign-in
 * before.
 *
 * @throws ServiceError `User not found`, also if the address was lost since: then the mailbox may be somebody else's
 */
export async function followNoticeLink(
  call: Call,
  { userId, at }: { readonly userId: string; readonly at: Date },
): Promise<Call> {
  const [user] = await call.run(selectNotified, { userId, at });
  if (!user) throw new ServiceError('USER_NOT_FOUND');
  return { ...call, cutoffCount: user.cutoffCount };
}

/** A notice of an instant at which a link is void went to a mailbox that is not, or no longer, the user's. */
const selectNotified = statement('select_notified_user', { cutoffCount: users.cutoffCount })`
  select cutoff_count from users
  where id = ${p.uuid('userId')} and deleted_at is null
    and not ${p.instant('at')} <@ coalesce(void_undo_links, '{}')`;
