import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { isSameEmail, spellingsOf } from './find-user-by-email.ts';

/** Stores that the user has proved to own the e-mail address, if the user still has it. */
export async function markEmailVerified(
  { run, now }: Call,
  user: { readonly userId: string; readonly email: string },
): Promise<void> {
  await run(markVerified, { userId: user.userId, ...spellingsOf(user.email), now });
}

/** The first proof is kept, so that later sign-ins change nothing. Parameters: userId, emails, now. */
export const verifiedEmail = sql`
  update users set email_verified_at = ${p.instant('now')}
  where id = ${p.uuid('userId')} and ${isSameEmail(sql`email`)} and email_verified_at is null
    and deleted_at is null`;

const markVerified = statement('mark_email_verified')`${verifiedEmail}`;
