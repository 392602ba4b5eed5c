/** The operator who is signed in to the console, and their rights. */

import { isOwnMethod } from '../../config/login-methods.ts';
import type { Operator, Role } from '../../config/operators.ts';
import { PHISHING_RESISTANT } from '../../domain/core/assurance.ts';
import type { ApplicationCall, Call } from '../../domain/core/call.ts';
import { hasReason, ServiceError } from '../../domain/core/errors.ts';
import { CONSOLE_APPLICATION_ID } from '../../domain/core/own-applications.ts';
import { UUID } from '../../domain/core/validation.ts';
import { renewSession } from '../../domain/sessions/renew-session.ts';
import { IMPERSONATION, type SignInMethod } from '../../domain/tokens/verify-token.ts';
import { getUser } from '../../domain/users/get-user.ts';
import type { HttpContext } from '../../http/http-context.ts';
import type { ConsoleParts } from './console-parts.ts';
import { hasSignedInHere, readSessionCookie, writeSessionCookie } from './cookies.ts';

/** Changes check the session in Postgres. Pages may use an answer of the cache. */
const STALENESS_MS = { GET: 5_000, POST: 0 } as const;

interface SignedIn {
  readonly userId: string;
  readonly name: string | null;
  readonly sessionId: string;
  /** Whether the operator has signed in in this browser recently, as sensitive routes demand. */
  readonly isFresh: boolean;
}

export type SignedInOperator = Operator & SignedIn;

/** A user who is not an operator, or an operator who has to sign in with a passkey. */
export interface NonOperator {
  readonly email: string;
  readonly needsPasskey: boolean;
}

/** Returns the operator with the e-mail address, or why the user may not use the console. */
export function findOperator(
  { operators }: Pick<ConsoleParts, 'operators'>,
  { email }: { readonly email: string },
  { method, assurance }: { readonly method: SignInMethod; readonly assurance: number },
): Operator | NonOperator {
  // Changes would be in the audit log as those of the operator.
  const operator = method === IMPERSONATION ? undefined : operators.find(email);
  // Whoever reads the operator's e-mails may have linked an account of their own at a provider.
  const isStrong = assurance >= PHISHING_RESISTANT && isOwnMethod(method);
  const isAccepted = operator && (!operator.needsPasskey || isStrong);
  return isAccepted ? operator : { email, needsPasskey: operator !== undefined };
}

/** Returns the user of the session of this browser. Undefined without a live session. */
export async function findSignedIn(
  context: HttpContext,
  call: Call,
  parts: ConsoleParts,
  method: 'GET' | 'POST',
): Promise<SignedInOperator | (NonOperator & SignedIn) | undefined> {
  const sessionId = readSessionCookie(context, parts.cookies) ?? '';
  if (!UUID.test(sessionId)) return undefined;
  const found = await parts.liveSessions.find(CONSOLE_APPLICATION_ID, sessionId.toLowerCase(), STALENESS_MS[method]);
  if (!found || found.expiresAt <= call.now) return undefined;
  const user = await findUser(call, found.userId);
  if (!user) return undefined;
  const isFresh = hasSignedInHere(context, parts.cookies, { userId: user.id, now: call.now });
  const signIn = { userId: user.id, name: user.name, sessionId, isFresh };
  return { ...findOperator(parts, user, found), ...signIn };
}

/** Renews the session if that is due, and stores the new one in the cookie. */
export async function renewOperatorSession(
  context: HttpContext,
  call: ApplicationCall,
  parts: ConsoleParts,
  { sessionId }: SignedInOperator,
): Promise<void> {
  try {
    const { id } = await renewSession(call, parts, { sessionId });
    if (id !== sessionId) writeSessionCookie(context, parts.cookies, id);
  } catch (error) {
    // A session cannot be renewed later than eight hours after the sign-in.
    if (!(error instanceof ServiceError)) throw error;
  }
}

const RANKS = { viewer: 1, team: 2, support: 2, admin: 3 } as const satisfies Record<Role, number>;

/** Returns whether the role has all rights of the needed one. */
export function includesRole(role: Role, needed: Role): boolean {
  return RANKS[role] >= RANKS[needed];
}

function findUser(call: Call, userId: string) {
  return getUser(call, { userId }).catch((error: unknown) => {
    if (hasReason(error, 'USER_NOT_FOUND')) return undefined;
    throw error;
  });
}
