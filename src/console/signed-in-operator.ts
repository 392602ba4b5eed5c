/** Who is signed in to the console, and what they may do. */
import type { Operator, Role } from '../config/operators.ts';
import type { ApplicationCall, Call } from '../domain/call.ts';
import { ServiceError } from '../domain/errors.ts';
import type { SignInMethod } from '../domain/login/verify-token.ts';
import { CONSOLE_APPLICATION_ID } from '../domain/operators/console-application.ts';
import { renewSession } from '../domain/sessions/renew-session.ts';
import { getUser } from '../domain/users/get-user.ts';
import { UUID } from '../domain/validation.ts';
import type { HttpContext } from '../http/http-context.ts';
import type { ConsoleParts } from './console-parts.ts';
import { readSessionCookie, writeSessionCookie } from './cookies.ts';

/** A sensitive act needs a sign-in that is no older. */
const FRESH_MS = 15 * 60_000;
/** Changes ask Postgres whether the session has ended. Pages may know it from a moment ago. */
const STALENESS_MS = { GET: 5_000, POST: 0 } as const;

interface SignedIn {
  readonly userId: string;
  readonly name: string | null;
  readonly sessionId: string;
  readonly authenticatedAt: Date;
}

export type SignedInOperator = Operator & SignedIn;

/** Somebody whose address is that of no operator, or who has not signed in as the operator has to. */
export interface Stranger {
  readonly email: string;
  readonly needsPasskey: boolean;
}

/** Returns the operator with the address, or whoever may not use the console. */
export function judge(
  { operators }: Pick<ConsoleParts, 'operators'>,
  { email }: { readonly email: string },
  method: SignInMethod,
): Operator | Stranger {
  const operator = operators.find(email);
  const isAccepted = operator && (!operator.needsPasskey || method === 'passkey');
  return isAccepted ? operator : { email, needsPasskey: operator !== undefined };
}

/** Returns who has the session of this browser, or undefined without a live one. */
export async function findSignedIn(
  context: HttpContext,
  call: Call,
  parts: ConsoleParts,
  method: 'GET' | 'POST',
): Promise<SignedInOperator | (Stranger & SignedIn) | undefined> {
  const sessionId = readSessionCookie(context, parts.cookies) ?? '';
  if (!UUID.test(sessionId)) return undefined;
  const found = await parts.liveSessions.find(CONSOLE_APPLICATION_ID, sessionId.toLowerCase(), STALENESS_MS[method]);
  if (!found || found.expiresAt <= call.now) return undefined;
  const user = await findUser(call, found.userId);
  if (!user) return undefined;
  const signIn = { userId: user.id, name: user.name, sessionId, authenticatedAt: found.authTime };
  return { ...judge(parts, user, found.method), ...signIn };
}

/** Gives the browser the successor of its session, if one is due. */
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
    // It ends eight hours after the sign-in.
    if (!(error instanceof ServiceError)) throw error;
  }
}

export function isRecent({ authenticatedAt }: SignedInOperator, now: Date): boolean {
  return now.getTime() - authenticatedAt.getTime() < FRESH_MS;
}

const RANKS = { viewer: 1, team: 2, support: 2, admin: 3 } as const satisfies Record<Role, number>;

/** Returns whether the role includes what another may do. */
export function includesRole(role: Role, needed: Role): boolean {
  return RANKS[role] >= RANKS[needed];
}

async function findUser(call: Call, userId: string) {
  try {
    return await getUser(call, { userId });
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return undefined;
    throw error;
  }
}
