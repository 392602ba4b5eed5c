import { sql } from 'drizzle-orm';
import { sessions } from '../../database/session-schema.ts';
import { p, type RowOfType, t } from '../../database/template.ts';
import type { SignInMethod } from '../login/verify-token.ts';
import { latestCutoff } from './cutoffs.ts';

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
  method: t.textOf<SignInMethod>(),
  createdAt: sessions.createdAt,
  expiresAt: sessions.expiresAt,
};

/** A live session, without its ID, which is a bearer secret. */
export type Session = RowOfType<typeof sessionColumns>;

/**
 * Selects the live session of that ID with its user: no cut-off has ended it, and the user can sign in.
 * Parameters: applicationId, sessionId, now.
 */
export const liveSession = sql`
  select s.user_id, s.authenticated_at, u.email, u.name, u.profile_image, u.wallet_address
  from session_ids s join users u on u.id = s.user_id
  where s.application_id = ${p.uuid('applicationId')} and s.id = ${p.uuid('sessionId')}
    and s.expires_at > ${p.instant('now')} and u.deleted_at is null and u.deactivated_at is null
    and s.authenticated_at > ${latestCutoff(sql`s.user_id`)}`;
