import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { applications, loginIntents } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import type { SignInMethod } from './verify-token.ts';

export interface LoginIntent {
  readonly id: string;
  readonly applicationId: string;
  readonly applicationName: string;
  /** Whether whoever proves an e-mail address without a user becomes one. */
  readonly allowSignUp: boolean;
  /** Whether a new user gives a name. */
  readonly askName: boolean;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly expiresAt: Date;
  readonly completedAt: Date | null;
  readonly userId: string | null;
  readonly method: SignInMethod;
  /** The browser that completed the intent on the login page. */
  readonly browserDigest: Buffer | null;
}

/** Returns the intent, or undefined if it or its application does not exist. */
export async function findLoginIntent({ run }: Call, id: string): Promise<LoginIntent | undefined> {
  const [intent] = await run(selectIntent, { id });
  return intent;
}

/**
 * Returns an open intent.
 *
 * @throws ServiceError `Login intent not found`, `Login intent already completed`, `Login intent expired`
 */
export async function requireOpenIntent(call: Call, id: string): Promise<LoginIntent> {
  const intent = await findLoginIntent(call, id);
  const refusal = refusalOf(intent, call.now);
  if (!intent || refusal) throw refusal;
  return intent;
}

/** Returns the status of an intent. A completed one does not expire. */
export function statusOf({ completedAt, expiresAt }: LoginIntent, now: Date): 'open' | 'completed' | 'expired' {
  if (completedAt) return 'completed';
  return expiresAt <= now ? 'expired' : 'open';
}

/** Returns the error for an intent that is not open, or undefined for an open one. */
export function refusalOf(intent: LoginIntent | undefined, now: Date): ServiceError | undefined {
  if (!intent) return new ServiceError('LOGIN_INTENT_NOT_FOUND');
  const status = statusOf(intent, now);
  if (status === 'open') return undefined;
  return new ServiceError(status === 'completed' ? 'LOGIN_INTENT_COMPLETED' : 'LOGIN_INTENT_EXPIRED');
}

const selectIntent: Statement<LoginIntent[]> = (db) =>
  db
    .select({
      id: loginIntents.id,
      applicationId: loginIntents.applicationId,
      applicationName: applications.name,
      allowSignUp: applications.allowSignUp,
      askName: applications.askName,
      clientId: applications.clientId,
      redirectUri: loginIntents.redirectUri,
      state: loginIntents.state,
      expiresAt: loginIntents.expiresAt,
      completedAt: loginIntents.completedAt,
      userId: loginIntents.userId,
      method: sql<SignInMethod>`coalesce(nullif(${loginIntents.method}, ''), 'unknown')`,
      browserDigest: loginIntents.browserDigest,
    })
    .from(loginIntents)
    .innerJoin(applications, and(eq(applications.id, loginIntents.applicationId), isNull(applications.deletedAt)))
    .where(eq(loginIntents.id, sql.placeholder('id')))
    .prepare('select_login_intent');
