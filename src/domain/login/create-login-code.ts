import { randomUUID } from 'node:crypto';
import { and, eq, lt, sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { loginCodes } from '../../database/login-schema.ts';
import { users } from '../../database/schema.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { isActiveUser } from '../users/active-user.ts';
import { check, emailAddress, type Unchecked, uuid } from '../validation.ts';
import type { Browser } from './browser.ts';
import { ATTEMPTS, findLatestCode } from './find-latest-code.ts';
import { deriveLoginCode, digestLoginCode, type LoginCodeKeys, recoverLoginCode } from './login-code.ts';
import { admitLoginCode } from './login-code-limits.ts';
import { requireOpenIntent } from './login-intent.ts';

const LIFETIME_MS = 10 * 60_000;
const SENDS = 3;

const rules = { loginIntentId: uuid, email: emailAddress };

/** A code to send. */
export interface LoginCode {
  readonly email: string;
  /** No user has the address: the e-mail must not be sent, but cost the same work. */
  readonly isDecoy: boolean;
  readonly code: string;
  readonly applicationName: string;
}

export interface LoginCodeSettings {
  readonly keys: LoginCodeKeys;
  /** Multiplies the limits on codes. */
  readonly limitFactor: number;
}

/**
 * Returns a code for the e-mail address, valid for 10 minutes, for this intent and in this browser: the one that it
 * was sent before, if that can still be used. Everything is the same for an address without a user.
 *
 * @throws ServiceError `Too many codes`, `Code sent too often`, and as `requireOpenIntent` does
 */
export async function createLoginCode(
  call: Call,
  settings: LoginCodeSettings,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<LoginCode> {
  const { loginIntentId, email } = check(request, rules);
  const { applicationId, applicationName } = await requireOpenIntent(call, loginIntentId);
  const [user] = await call.run(selectAddressee, { email });
  const login = { applicationId, loginIntentId, browserDigest: browser.digest, email, userId: user?.id ?? null };
  const code =
    (await repeatLiveCode(call, settings, login)) ??
    (await insertNewCode(call, settings, login, await admitLoginCode(call, browser, email, settings.limitFactor)));
  return { email: user?.email ?? email, isDecoy: !user, code, applicationName };
}

interface EmailLogin {
  readonly applicationId: string;
  readonly loginIntentId: string;
  readonly browserDigest: Buffer;
  readonly email: string;
  readonly userId: string | null;
}

/** Returns undefined if there is no live code. Repeating one takes no permit, since it allows no more guesses. */
async function repeatLiveCode(
  call: Call,
  { keys, limitFactor }: LoginCodeSettings,
  login: EmailLogin,
): Promise<string | undefined> {
  const latest = await findLatestCode(call, login);
  const isLive = latest && latest.attempts < ATTEMPTS && latest.expiresAt > call.now;
  if (!isLive || latest.email !== login.email || latest.userId !== login.userId) return undefined;
  const code = recoverLoginCode(keys, latest.id, latest.codeDigest);
  if (!code) return undefined;
  const [sent] = await call.run(countSend, { ...login, id: latest.id, limit: SENDS * limitFactor });
  if (!sent) throw new ServiceError('CODE_SENT_TOO_OFTEN');
  return code;
}

async function insertNewCode(
  call: Call,
  { keys }: LoginCodeSettings,
  login: EmailLogin,
  length: Parameters<typeof deriveLoginCode>[2],
): Promise<string> {
  const id = randomUUID();
  const code = deriveLoginCode(keys, id, length);
  await call.run(insertCode, {
    ...login,
    id,
    codeDigest: digestLoginCode(keys, id, code),
    createdAt: call.now,
    expiresAt: new Date(call.now.getTime() + LIFETIME_MS),
  });
  return code;
}

const selectAddressee: Statement<{ id: string; email: string }[]> = (db) =>
  db
    .select({ id: users.id, email: users.email })
    .from(users)
    .where(and(sql`lower(${users.email}) = lower(${sql.placeholder('email')})`, isActiveUser))
    .prepare('select_addressee');

const countSend: Statement<{ id: string }[]> = (db) =>
  db
    .update(loginCodes)
    .set({ sends: sql`${loginCodes.sends} + 1` })
    .where(
      and(
        eq(loginCodes.applicationId, sql.placeholder('applicationId')),
        eq(loginCodes.loginIntentId, sql.placeholder('loginIntentId')),
        eq(loginCodes.id, sql.placeholder('id')),
        lt(loginCodes.sends, sql.placeholder('limit')),
      ),
    )
    .returning({ id: loginCodes.id })
    .prepare('count_login_code_send');

const insertCode: Statement<unknown> = (db) =>
  db
    .insert(loginCodes)
    .values(
      placeholders(
        'applicationId',
        'loginIntentId',
        'id',
        'userId',
        'email',
        'browserDigest',
        'codeDigest',
        'createdAt',
        'expiresAt',
      ),
    )
    .prepare('insert_login_code');
