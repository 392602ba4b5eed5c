import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { applications, loginIntents } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';

export interface LoginIntent {
  readonly id: string;
  readonly applicationId: string;
  readonly applicationName: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly expiresAt: Date;
  readonly completedAt: Date | null;
  readonly userId: string | null;
  /** Of the browser that completed the intent on the login page. */
  readonly browserDigest: Buffer | null;
}

/** Undefined too where the intent's application has been deleted. */
export async function findLoginIntent({ run }: Call, id: string): Promise<LoginIntent | undefined> {
  const [intent] = await run(selectIntent, { id });
  return intent;
}

/** The intent, if it waits for its user. Throws `Login intent not found`, `… already completed` or `… expired`. */
export async function requireOpenIntent(call: Call, id: string): Promise<LoginIntent> {
  const intent = await findLoginIntent(call, id);
  const refusal = refusalOf(intent, call.now);
  if (!intent || refusal) throw refusal;
  return intent;
}

/** One that is completed stays so; any other expires. */
export function statusOf({ completedAt, expiresAt }: LoginIntent, now: Date): 'open' | 'completed' | 'expired' {
  if (completedAt) return 'completed';
  return expiresAt <= now ? 'expired' : 'open';
}

/** Why the intent does not wait for its user; undefined where it does. */
export function refusalOf(intent: LoginIntent | undefined, now: Date): ServiceError | undefined {
  if (!intent) return new ServiceError('not_found', 'Login intent not found');
  const status = statusOf(intent, now);
  if (status === 'open') return undefined;
  const message = status === 'completed' ? 'Login intent already completed' : 'Login intent expired';
  return new ServiceError('failed_precondition', message);
}

const selectIntent: Statement<LoginIntent[]> = (db) =>
  db
    .select({
      id: loginIntents.id,
      applicationId: loginIntents.applicationId,
      applicationName: applications.name,
      clientId: applications.clientId,
      redirectUri: loginIntents.redirectUri,
      state: loginIntents.state,
      expiresAt: loginIntents.expiresAt,
      completedAt: loginIntents.completedAt,
      userId: loginIntents.userId,
      browserDigest: loginIntents.browserDigest,
    })
    .from(loginIntents)
    .innerJoin(applications, and(eq(applications.id, loginIntents.applicationId), isNull(applications.deletedAt)))
    .where(eq(loginIntents.id, sql.placeholder('id')))
    .prepare('select_login_intent');
