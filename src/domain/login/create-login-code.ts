import { randomUUID } from 'node:crypto';
import { and, sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { loginCodes } from '../../database/login-schema.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { isActiveUser } from '../users/active-user.ts';
import { check, emailAddress, type Unchecked, uuid } from '../validation.ts';
import type { Browser } from './browser.ts';
import { digestLoginCode, generateLoginCode, type LoginCodeKeys } from './login-code.ts';
import { requireOpenIntent } from './login-intent.ts';
import { networkOf } from './network.ts';
import { isWithinLimit } from './rate-limit.ts';

const LIFETIME_MS = 10 * 60_000;
const CODES_PER_EMAIL = 5;
const CODES_PER_NETWORK = 20;

const rules = { loginIntentId: uuid, email: emailAddress };

/** A code to send. */
export interface LoginCode {
  readonly email: string;
  /** No user has the address: the e-mail must not be sent, but cost the same work. */
  readonly isDecoy: boolean;
  readonly code: string;
  readonly applicationName: string;
}

/**
 * Creates a six-digit code for the user with the e-mail address, valid for 10 minutes, for this intent and
 * in this browser.
 *
 * @throws ServiceError `Too many codes`, and as `requireOpenIntent` does
 */
export async function createLoginCode(
  call: Call,
  keys: LoginCodeKeys,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<LoginCode> {
  const { loginIntentId, email } = check(request, rules);
  const { applicationId, applicationName } = await requireOpenIntent(call, loginIntentId);
  const isAllowed =
    (await isWithinLimit(call, `login codes asked for from ${networkOf(browser.address)}`, CODES_PER_NETWORK)) &&
    (await isWithinLimit(call, `login codes sent to ${foldEmail(email)}`, CODES_PER_EMAIL));
  if (!isAllowed) throw new ServiceError('TOO_MANY_CODES');

  const id = randomUUID();
  const code = generateLoginCode();
  const [created] = await call.run(insertCode, {
    applicationId,
    loginIntentId,
    id,
    email,
    browserDigest: browser.digest,
    codeDigest: digestLoginCode(keys, id, code),
    createdAt: call.now,
    expiresAt: new Date(call.now.getTime() + LIFETIME_MS),
  });
  return { email: created?.email ?? email, isDecoy: !created?.email, code, applicationName };
}

/** Folds every spelling that any collation of Postgres may take for one address, and some more. */
function foldEmail(email: string): string {
  return email.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '').toUpperCase();
}

/**
 * Returns the address as the user has it, or null if there is no such user. It does the same work for both,
 * so that its latency does not tell them apart.
 */
const insertCode: Statement<{ email: string | null }[]> = (db) => {
  const addressee = db.$with('addressee').as(
    db
      .select({ id: users.id, email: users.email })
      .from(users)
      .where(and(sql`lower(${users.email}) = lower(${sql.placeholder('email')})`, isActiveUser)),
  );
  const created = db.$with('created').as(
    db
      .insert(loginCodes)
      .values({
        ...placeholders(
          'applicationId',
          'loginIntentId',
          'id',
          'browserDigest',
          'codeDigest',
          'createdAt',
          'expiresAt',
        ),
        userId: sql`(select id from ${addressee})`,
      })
      .returning({ id: loginCodes.id }),
  );
  return db
    .with(addressee, created)
    .select({ email: sql<string | null>`(select email from ${addressee})` })
    .from(created)
    .prepare('insert_login_code');
};
