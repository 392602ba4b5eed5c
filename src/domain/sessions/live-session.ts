import { and, eq, gt, sql } from 'drizzle-orm';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { sessionIds } from '../../database/session-schema.ts';
import { isActiveUser } from '../users/user-status.ts';
import { isLater, latestCutoff } from './cutoffs.ts';

/** Selects sessions that no cut-off has ended, of users who can sign in. Placeholder: applicationId. */
export const isUnended = and(isActiveUser, isLater(sessionIds.authenticatedAt, latestCutoff(sessionIds.userId)));

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
