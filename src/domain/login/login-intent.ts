import { and, eq, isNull, sql } from 'drizzle-orm';
import type { RowOf, Statement } from '../../database/pool/database.ts';
import { loginIntents } from '../../database/schema/intent-schema.ts';
import { applications } from '../../database/schema/schema.ts';
import { allowsMethod, brandingColumns } from '../applications/branding.ts';
import { isStillRegistered } from '../applications/redirect-uri.ts';
import { ONE_FACTOR } from '../core/assurance.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import type { SignInMethod } from '../tokens/verify-token.ts';

const columns = {
  id: loginIntents.id,
  applicationId: loginIntents.applicationId,
  applicationName: applications.name,
  /** Whether a person who proves to have an e-mail address without a user becomes a new user. */
  allowSignUp: sql<boolean>`${applications.allowSignUp} and not ${applications.restrictAccess}`,
  restrictAccess: applications.restrictAccess,
  signUpEmailDomains: applications.signUpEmailDomains,
  /** Whether a new user must give a name. */
  askName: applications.askName,
  branding: brandingColumns,
  singleSignOn: applications.singleSignOn,
  clientId: applications.clientId,
  redirectUri: loginIntents.redirectUri,
  state: loginIntents.state,
  locale: loginIntents.locale,
  prompt: loginIntents.prompt,
  maxAgeSeconds: loginIntents.maxAgeSeconds,
  /** The lowest level that completes the login: a login may raise that of its application, never lower it. */
  requiredAssurance: sql<number>`greatest(${applications.requiredAssurance}, ${loginIntents.requiredAssurance})`,
  responseMode: loginIntents.responseMode,
  forClient: loginIntents.clientId,
  clientName: loginIntents.clientName,
  consentedAt: loginIntents.consentedAt,
  redeemedAt: loginIntents.redeemedAt,
  /** A login has expired if its application has given up the redirect URI. */
  expiresAt: sql`case when ${isStillRegistered(sql`login_intents`, sql`applications`)} then ${loginIntents.expiresAt}
    else ${loginIntents.createdAt} end`.mapWith(loginIntents.expiresAt),
  completedAt: loginIntents.completedAt,
  /** The instant of the sign-in, if it was before `completedAt`: a remembered one, or one whose code was extended. */
  authenticatedAt: loginIntents.authenticatedAt,
  userId: loginIntents.userId,
  method: sql<SignInMethod | null>`${loginIntents.method}`,
  assurance: loginIntents.assurance,
  passkeyId: loginIntents.passkeyId,
  vouchedUserId: loginIntents.vouchedUserId,
  browserDigest: loginIntents.browserDigest,
  answerDigest: loginIntents.answerDigest,
};

export type LoginIntent = RowOf<typeof columns>;

/** Returns undefined if the intent or its application does not exist. */
export async function findLoginIntent({ run }: Call, id: string): Promise<LoginIntent | undefined> {
  const [intent] = await run(selectIntent, { id });
  return intent;
}

/**
 * Returns the intent if it is open.
 *
 * @param method if given, the application must allow this sign-in method, and the login no more than it can show
 * @param highest the highest level that the method can show, with a second step
 * @throws ServiceError `Login intent not found`, `Login intent already completed`, `Login intent expired`, `Login
 * method not enabled`, `Assurance not met`
 */
export async function requireOpenIntent(
  call: Call,
  id: string,
  method?: string,
  highest: number = ONE_FACTOR,
): Promise<LoginIntent> {
  const intent = await findLoginIntent(call, id);
  if (!intent) throw new ServiceError('LOGIN_INTENT_NOT_FOUND');
  const status = statusOf(intent, call.now);
  if (status === 'completed') throw new ServiceError('LOGIN_INTENT_COMPLETED');
  if (status === 'expired') throw new ServiceError('LOGIN_INTENT_EXPIRED');
  if (method && !allowsMethod(intent.branding, method)) throw new ServiceError('LOGIN_METHOD_NOT_ENABLED');
  if (method && highest < intent.requiredAssurance) throw new ServiceError('ASSURANCE_NOT_MET');
  return intent;
}

/** A completed intent stays `completed` after `expiresAt`. */
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
