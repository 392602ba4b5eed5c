import { and, eq, exists, gt, isNull, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Db, Statement } from '../../database/database.ts';
import { BY_POSTGRES, statementInstant } from '../../database/instants.ts';
import { applications, instantPlaceholder, loginIntents, users } from '../../database/schema.ts';
import { userCutoffs } from '../../database/session-schema.ts';
import { addToQuery } from '../applications/redirect-uri.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { isActiveUser } from '../users/user.ts';
import { check, type Unchecked, uuid } from '../validation.ts';
import type { AuthTokens } from './auth-tokens.ts';
import { requireOpenIntent } from './login-intent.ts';
import type { SignInMethod } from './verify-token.ts';

const rules = { loginIntentId: uuid, userId: uuid };
/** A page other than Usher's own. */
const PAGE: HowSignedIn = { method: 'page', browserDigest: null };

export interface Completion {
  readonly authToken: string;
  /** Where to send the browser. */
  readonly redirectUrl: string;
}

/**
 * Completes a login intent, once, and returns the auth token and where to send the browser. The login page
 * passes the digest of the browser, which may then ask for the same answer again, and the address that was proved.
 *
 * @throws ServiceError `Login intent not found`, `Login intent already completed`, `Login intent expired`,
 * `User not found`, also if the wallet is not the user's any more; `Code no longer valid` in place of it for an e-mail
 * address
 */
export async function completeLogin(
  call: Call,
  tokens: AuthTokens,
  request: Unchecked<keyof typeof rules>,
  { method, browserDigest }: HowSignedIn = PAGE,
  { email = null, walletAddress = null }: Proved = {},
): Promise<Completion> {
  const { loginIntentId, userId } = check(request, rules);
  const { run, now } = call;
  const [intent] = await run(completeIntent, {
    ...BY_POSTGRES,
    loginIntentId,
    userId,
    method,
    browserDigest,
    now,
    email,
    walletAddress,
  });
  if (!intent) {
    await requireOpenIntent(call, loginIntentId);
    throw new ServiceError(email === null ? 'USER_NOT_FOUND' : 'CODE_NOT_VALID');
  }
  return answerLogin(tokens, { ...intent, loginIntentId, userId, method });
}

/** Returns the answer to a completed login. It is the same every time, except for an ECDSA signature. */
export async function answerLogin(tokens: AuthTokens, login: CompletedLogin): Promise<Completion> {
  const { redirectUri, state, completedAt } = login;
  const authToken = await tokens.mint({ ...login, authenticatedAt: completedAt });
  // RFC 9207: `iss` tells the application which issuer answers.
  const redirectUrl = addToQuery(redirectUri, { authToken, state, iss: tokens.issuer });
  return { authToken, redirectUrl };
}

export interface HowSignedIn {
  readonly method: SignInMethod;
  /** The browser that signed in on the login page. */
  readonly browserDigest: Buffer | null;
}

/** The address that the user has proved to have. It must still be that of the user. */
export interface Proved {
  readonly email?: string | null;
  readonly walletAddress?: string | null;
}

/** What the answer to a login needs of its intent. */
export interface CompletedIntent {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly completedAt: Date;
}

interface CompletedLogin extends CompletedIntent {
  readonly loginIntentId: string;
  readonly userId: string;
  readonly method: SignInMethod;
}

const completeIntent: Statement<CompletedIntent[]> = (db) => {
  const hasStill = (column: PgColumn, name: keyof Proved) =>
    sql`(${sql.placeholder(name)}::text is null or lower(${column}) = lower(${sql.placeholder(name)}))`;
  const isOwner = and(hasStill(users.email, 'email'), hasStill(users.walletAddress, 'walletAddress'));
  const user = db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.id, sql.placeholder('userId')), isActiveUser, isOwner));
  // This statement may have begun before a reactivation that it has seen, which ends what is not later than its cut-off.
  const completedAt = sql`greatest(${statementInstant}, (
    select ${userCutoffs.cutoffAt} + interval '1 ms' from ${userCutoffs}
    where ${userCutoffs.userId} = ${sql.placeholder('userId')}))`;
  const completed = db.$with('completed').as(updateIntent(db, exists(user), completedAt));
  return db.with(completed, auditCompletion(db)).select().from(completed).prepare('complete_login_intent');
};

/**
 * Completes an open intent of an application that exists, if the condition holds. Cut-offs are compared with the instant,
 * so it has the clock that they have. Placeholders: loginIntentId, userId, method, browserDigest, now, instant.
 */
export function updateIntent(db: Db, condition: SQL, completedAt: SQL = statementInstant) {
  const now = instantPlaceholder('now');
  return db
    .update(loginIntents)
    .set({
      completedAt,
      userId: sql`${sql.placeholder('userId')}`,
      method: sql`${sql.placeholder('method')}`,
      browserDigest: sql`${sql.placeholder('browserDigest')}`,
    })
    .from(applications)
    .where(
      and(
        eq(loginIntents.id, sql.placeholder('loginIntentId')),
        isNull(loginIntents.completedAt),
        gt(loginIntents.expiresAt, now),
        eq(applications.id, loginIntents.applicationId),
        isNull(applications.deletedAt),
        condition,
      ),
    )
    .returning({
      redirectUri: loginIntents.redirectUri,
      state: loginIntents.state,
      clientId: applications.clientId,
      completedAt: sql<Date>`${loginIntents.completedAt}`.mapWith(loginIntents.completedAt).as('completed_at'),
      applicationId: loginIntents.applicationId,
    });
}

/** Returns the CTE that records what `updateIntent` has done as the CTE `completed`. Placeholder: userId. */
export function auditCompletion(db: Db) {
  const resource = sql`${sql.placeholder('userId')}`;
  return insertAuditEvent(db, { resource, from: sql`completed`, applicationId: sql`application_id` });
}
