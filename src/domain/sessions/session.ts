import { and, eq, gt, sql } from 'drizzle-orm';
import type { RowOf } from '../../database/database.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { sessionIds, sessions } from '../../database/session-schema.ts';
import type { SignInMethod } from '../login/verify-token.ts';
import { isActiveUser } from '../users/user.ts';
import { latestCutoff } from './cutoffs.ts';

/** Interface, "Limits": a session expires after 15 minutes. */
export const SESSION_LIFETIME_MS = 15 * 60_000;

/** The caller, as a session records it. */
export interface Peer {
  readonly ipAddress: string;
  readonly userAgent: string;
}

/** The columns of a session that is its user's newest. */
export const sessionColumns = {
  userId: sessions.userId,
  email: sessions.email,
  name: sessions.name,
  profileImage: sessions.profileImage,
  walletAddress: sessions.walletAddress,
  ipAddress: sessions.ipAddress,
  userAgent: sessions.userAgent,
  method: sql<SignInMethod>`${sessions.method}`,
  createdAt: sessions.createdAt,
  expiresAt: sessions.expiresAt,
};

/** A live session, without its ID, which is a bearer secret. */
export type Session = RowOf<typeof sessionColumns>;

/** When the user of a session signed in last. */
export const lastAuthentication = sql`greatest(${sessions.authenticatedAt}, ${sessions.lastAuthenticatedAt})`;

/** Selects sessions that no cut-off has ended, of users who can sign in. Placeholder: applicationId. */
export const isUnended = and(isActiveUser, gt(sessionIds.authenticatedAt, latestCutoff(sessionIds.userId)));

/** Selects the live session of that ID with its user. Placeholders: applicationId, sessionId, now. */
export const liveSession = sql`
  select ${sessionIds.userId}, ${sessionIds.authenticatedAt}, ${users.email}, ${users.name}, ${users.profileImage},
    ${users.walletAddress}
  from ${sessionIds} inner join ${users} on ${eq(users.id, sessionIds.userId)}
  where ${and(
    eq(sessionIds.applicationId, sql.placeholder('applicationId')),
    eq(sessionIds.id, sql.placeholder('sessionId')),
    gt(sessionIds.expiresAt, instantPlaceholder('now')),
    isUnended,
  )}`;
