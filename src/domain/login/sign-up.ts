import { randomUUID } from 'node:crypto';
import { and, eq, exists, gt, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { BY_POSTGRES } from '../../database/instants.ts';
import { applications, instantPlaceholder, loginIntents, users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import type { AuthTokens } from './auth-tokens.ts';
import {
  answerLogin,
  auditCompletion,
  type CompletedIntent,
  type Completion,
  type HowSignedIn,
  updateIntent,
} from './complete-login.ts';

/**
 * Creates a user and completes the login, both or neither. Returns undefined if another user has the e-mail or wallet
 * address, or if the intent is not open.
 */
export async function signUp(
  { run, now }: Call,
  tokens: AuthTokens,
  loginIntentId: string,
  user: { email: string; name: string | null; walletAddress: string },
  how: HowSignedIn,
): Promise<(Completion & { userId: string }) | undefined> {
  const userId = randomUUID();
  const [intent] = await run(insertUserAndComplete, { ...user, ...how, ...BY_POSTGRES, userId, loginIntentId, now });
  if (!intent) return undefined;
  const answer = await answerLogin(tokens, { ...intent, ...how, loginIntentId, userId });
  return { userId, ...answer };
}

const insertUserAndComplete: Statement<CompletedIntent[]> = (db) => {
  const now = instantPlaceholder('now');
  // Locked, so that the second request of a double click waits here and creates no user.
  const open = db.$with('open').as(
    db
      .select({ id: loginIntents.id })
      .from(loginIntents)
      .innerJoin(applications, eq(applications.id, loginIntents.applicationId))
      .where(
        and(
          eq(loginIntents.id, sql.placeholder('loginIntentId')),
          isNull(loginIntents.completedAt),
          gt(loginIntents.expiresAt, now),
          isNull(applications.deletedAt),
          applications.allowSignUp,
        ),
      )
      .for('update', { of: loginIntents }),
  );
  const created = db.$with('created').as(
    db
      .insert(users)
      .select(
        db
          .select({
            id: sql`${sql.placeholder('userId')}::uuid`.as('id'),
            email: sql`${sql.placeholder('email')}::text`.as('email'),
            name: sql`${sql.placeholder('name')}::text`.as('name'),
            profileImage: sql`null::text`.as('profile_image'),
            walletAddress: sql`${sql.placeholder('walletAddress')}::text`.as('wallet_address'),
            createdAt: sql`${now}::timestamptz`.as('created_at'),
            deactivatedAt: sql`null::timestamptz`.as('deactivated_at'),
            deletedAt: sql`null::timestamptz`.as('deleted_at'),
          })
          .from(open),
      )
      .onConflictDoNothing()
      .returning({ id: users.id }),
  );
  const completed = db.$with('completed').as(updateIntent(db, exists(db.select().from(created))));
  return db.with(open, created, completed, auditCompletion(db)).select().from(completed).prepare('sign_up');
};
