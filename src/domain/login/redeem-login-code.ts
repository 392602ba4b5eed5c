import { and, desc, eq, exists, gt, lt, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { loginCodes } from '../../database/login-schema.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, text, type Unchecked, uuid } from '../validation.ts';
import type { AuthTokens } from './auth-tokens.ts';
import type { Browser } from './browser.ts';
import { answerLogin, type Completion, explainRefusal, updateIntent } from './complete-login.ts';
import { isLoginCode, type LoginCodeKeys } from './login-code.ts';
import { requireOpenIntent } from './login-intent.ts';

const ATTEMPTS = 5;

const rules = { loginIntentId: uuid, code: text({ max: 255 }) };

/**
 * Completes the login with the latest code for this intent in this browser.
 *
 * @throws ServiceError `Wrong code`, `Code no longer valid` (after five wrong ones or 10 minutes), and as
 * `requireOpenIntent` does
 */
export async function redeemLoginCode(
  call: Call,
  { tokens, keys }: { tokens: AuthTokens; keys: LoginCodeKeys },
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<Completion> {
  const { loginIntentId, code } = check(request, rules);
  const { applicationId } = await requireOpenIntent(call, loginIntentId);
  const [latest] = await call.run(selectLatestCode, { applicationId, loginIntentId, browserDigest: browser.digest });
  if (!latest) throw new ServiceError('CODE_NOT_VALID');
  const { id, userId, codeDigest } = latest;
  const isRight = isLoginCode(keys, id, code.replace(/\s/g, ''), codeDigest) && userId !== null;
  const [attempt] = await call.run(countAttempt, {
    applicationId,
    loginIntentId,
    id,
    isRight,
    userId,
    method: 'email',
    browserDigest: browser.digest,
    now: call.now,
  });
  if (!attempt) throw new ServiceError('CODE_NOT_VALID');
  if (!isRight) {
    const isLast = attempt.attempts >= ATTEMPTS;
    throw new ServiceError(isLast ? 'CODE_NOT_VALID' : 'WRONG_CODE');
  }
  if (!attempt.completed) throw await explainRefusal(call, loginIntentId);
  return answerLogin(tokens, { ...attempt.completed, loginIntentId, userId, method: 'email', completedAt: call.now });
}

const selectLatestCode: Statement<{ id: string; userId: string | null; codeDigest: Buffer }[]> = (db) =>
  db
    .select({ id: loginCodes.id, userId: loginCodes.userId, codeDigest: loginCodes.codeDigest })
    .from(loginCodes)
    .where(
      and(
        eq(loginCodes.applicationId, sql.placeholder('applicationId')),
        eq(loginCodes.loginIntentId, sql.placeholder('loginIntentId')),
        eq(loginCodes.browserDigest, sql.placeholder('browserDigest')),
      ),
    )
    .orderBy(desc(loginCodes.createdAt))
    .limit(1)
    .prepare('select_latest_login_code');

interface Attempt {
  readonly attempts: number;
  readonly completed: { readonly redirectUri: string; readonly state: string; readonly clientId: string } | null;
}

/**
 * Counts the attempt before revealing the result, so that concurrent guesses are all counted. The same
 * statement completes the login, so that the second request of a double click waits for the first.
 */
const countAttempt: Statement<Attempt[]> = (db) => {
  const attempt = db.$with('attempt').as(
    db
      .update(loginCodes)
      .set({ attempts: sql`${loginCodes.attempts} + 1` })
      .where(
        and(
          eq(loginCodes.applicationId, sql.placeholder('applicationId')),
          eq(loginCodes.loginIntentId, sql.placeholder('loginIntentId')),
          eq(loginCodes.id, sql.placeholder('id')),
          lt(loginCodes.attempts, ATTEMPTS),
          gt(loginCodes.expiresAt, instantPlaceholder('now')),
        ),
      )
      .returning({ attempts: loginCodes.attempts }),
  );
  const isRight = and(sql`${sql.placeholder('isRight')}::boolean`, exists(db.select().from(attempt)));
  const completed = db.$with('completed').as(updateIntent(db, isRight));
  return db
    .with(attempt, completed)
    .select({
      attempts: attempt.attempts,
      completed: { redirectUri: completed.redirectUri, state: completed.state, clientId: completed.clientId },
    })
    .from(attempt)
    .leftJoin(completed, sql`true`)
    .prepare('count_login_code_attempt');
};
