import { sql } from 'drizzle-orm';
import { sessions } from '../../database/session-schema.ts';
import type { SignInMethod } from '../login/verify-token.ts';
import type { Profile } from '../users/profile.ts';

/** Interface, "Limits": a session expires after 15 minutes. */
export const SESSION_LIFETIME_MS = 15 * 60_000;

/** The caller, as a session records it. */
export interface Peer {
  readonly ipAddress: string;
  readonly userAgent: string;
}

/** A live session, without its ID, which is a bearer secret. */
export interface Session extends Profile, Peer {
  readonly userId: string;
  readonly method: SignInMethod;
  readonly createdAt: Date;
  readonly expiresAt: Date;
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
