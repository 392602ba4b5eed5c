import { and, eq, exists, gt, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../db/database.ts';
import { applications, loginIntents, users } from '../../db/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import type { AuthTokens } from './auth-tokens.ts';
import { addToQuery } from './redirect-uri.ts';

const rules = { loginIntentId: uuid, userId: uuid };

/**
 * Marks a login intent as completed by the user, once, and returns the auth token and where to send
 * the browser. Throws `Login intent not found`, `Login intent already completed`,
 * `Login intent expired` or `User not found`.
 */
export async function completeLogin(
  { run, now }: Call,
  tokens: AuthTokens,
  request: Unchecked<keyof typeof rules>,
): Promise<{ authToken: string; redirectUrl: string }> {
  const { loginIntentId, userId } = check(request, rules);
  const [intent] = await run(completeIntent, { loginIntentId, userId, now });
  if (!intent) throw await explainRefusal({ run, now }, loginIntentId);

  const authToken = await tokens.mint({ userId, loginIntentId, clientId: intent.clientId }, now);
  // RFC 9207: the issuer tells the application whose answer this is.
  const redirectUrl = addToQuery(intent.redirectUri, { authToken, state: intent.state, iss: tokens.issuer });
  return { authToken, redirectUrl };
}

async function explainRefusal({ run, now }: Call, loginIntentId: string): Promise<ServiceError> {
  const [intent] = await run(selectIntent, { loginIntentId });
  if (!intent) return new ServiceError('not-found', 'Login intent not found');
  if (intent.completedAt) return new ServiceError('failed-precondition', 'Login intent already completed');
  if (intent.expiresAt <= now) return new ServiceError('failed-precondition', 'Login intent expired');
  return new ServiceError('not-found', 'User not found');
}

const completeIntent: Statement<{ redirectUri: string; state: string; clientId: string }[]> = (db) => {
  const now = sql.param(sql.placeholder('now'), loginIntents.expiresAt);
  const user = db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.id, sql.placeholder('userId')), isNull(users.deletedAt)));
  return db
    .update(loginIntents)
    .set({ completedAt: sql`${now}`, userId: sql`${sql.placeholder('userId')}` })
    .from(applications)
    .where(
      and(
        eq(loginIntents.id, sql.placeholder('loginIntentId')),
        isNull(loginIntents.completedAt),
        gt(loginIntents.expiresAt, now),
        eq(applications.id, loginIntents.applicationId),
        isNull(applications.deletedAt),
        exists(user),
      ),
    )
    .returning({
      redirectUri: loginIntents.redirectUri,
      state: loginIntents.state,
      clientId: applications.clientId,
    })
    .prepare('complete_login_intent');
};

const selectIntent: Statement<{ completedAt: Date | null; expiresAt: Date }[]> = (db) =>
  db
    .select({ completedAt: loginIntents.completedAt, expiresAt: loginIntents.expiresAt })
    .from(loginIntents)
    .innerJoin(applications, and(eq(applications.id, loginIntents.applicationId), isNull(applications.deletedAt)))
    .where(eq(loginIntents.id, sql.placeholder('loginIntentId')))
    .prepare('select_login_intent');
