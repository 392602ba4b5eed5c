import { and, eq, isNull, sql } from 'drizzle-orm';
import type { RowOf, Statement } from '../../database/database.ts';
import { applications, loginIntents } from '../../database/schema.ts';
import { allowsMethod, brandingColumns } from '../applications/branding.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import type { SignInMethod } from './verify-token.ts';

const columns = {
  id: loginIntents.id,
  applicationId: loginIntents.applicationId,
  applicationName: applications.name,
  /** Whether whoever proves an e-mail address without a user becomes one. */
  allowSignUp: applications.allowSignUp,
  /** Whether a new user gives a name. */
  askName: applications.askName,
  branding: brandingColumns,
  singleSignOn: applications.singleSignOn,
  clientId: applications.clientId,
  redirectUri: loginIntents.redirectUri,
  state: loginIntents.state,
  locale: loginIntents.locale,
  prompt: loginIntents.prompt,
  maxAgeSeconds: loginIntents.maxAgeSeconds,
  responseMode: loginIntents.responseMode,
  redeemedAt: loginIntents.redeemedAt,
  expiresAt: loginIntents.expiresAt,
  completedAt: loginIntents.completedAt,
  /** When the user had signed in, if that was before. */
  authenticatedAt: loginIntents.authenticatedAt,
  userId: loginIntents.userId,
  method: sql<SignInMethod | null>`${loginIntents.method}`,
  browserDigest: loginIntents.browserDigest,
};

export type LoginIntent = RowOf<typeof columns>;

/** Returns the intent, or undefined if it or its application does not exist. */
export async function findLoginIntent({ run }: Call, id: string): Promise<LoginIntent | undefined> {
  const [intent] = await run(selectIntent, { id });
  return intent;
}

/**
 * Returns an open intent.
 *
 * @param method if given, the application must have it
 * @throws ServiceError `Login intent not found`, `Login intent already completed`, `Login intent expired`, `Login method
 * not enabled`
 */
export async function requireOpenIntent(call: Call, id: string, method?: string): Promise<LoginIntent> {
  const intent = await findLoginIntent(call, id);
  if (!intent) throw new ServiceError('LOGIN_INTENT_NOT_FOUND');
  const status = statusOf(intent, call.now);
  if (status === 'completed') throw new ServiceError('LOGIN_INTENT_COMPLETED');
  if (status === 'expired') throw new ServiceError('LOGIN_INTENT_EXPIRED');
  if (method && !allowsMethod(intent.branding, method)) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
  return intent;
}

/** Returns the status of an intent. A completed one does not expire. */
export function statusOf({ completedAt, expiresAt }: LoginIntent, now: Date): 'open' | 'completed' | 'expired' {
  if (completedAt) return 'completed';
  return expiresAt <= now ? 'expired' : 'open';
}

const selectIntent: Statement<LoginIntent[]> = (db) =>
  db
    .select(columns)
    .from(loginIntents)
    .innerJoin(applications, and(eq(applications.id, loginIntents.applicationId), isNull(applications.deletedAt)))
    .where(eq(loginIntents.id, sql.placeholder('id')))
    .prepare('select_login_intent');
