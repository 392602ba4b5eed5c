import { sql } from 'drizzle-orm';
import { applications } from '../../database/schema/schema.ts';
import { renewableFor, sessions } from '../../database/schema/session-schema.ts';
import { p, t } from '../../database/sql/template.ts';
import { uuid } from '../core/validation.ts';
import { createList } from '../pages/list.ts';
import type { SignInMethod } from '../tokens/verify-token.ts';
import { getUser } from '../users/get-user.ts';
import { isRefusedNow } from './cutoffs.ts';
import { lastSignIn } from './session.ts';

/**
 * Returns a page of the sessions of a user that are live or can be renewed, in all applications.
 *
 * @throws ServiceError `User not found`
 */
export const listUserSessions = createList('select_user_sessions', {
  name: 'user sessions',
  rules: { userId: uuid },
  columns: {
    applicationId: sessions.applicationId,
    applicationName: applications.name,
    method: t.textOf<SignInMethod>(),
    assurance: sessions.assurance,
    onBehalfBy: sessions.onBehalfBy,
    ipAddress: sessions.ipAddress,
    userAgent: sessions.userAgent,
    beganAt: sessions.beganAt,
    expiresAt: sessions.expiresAt,
    authTime: t.instant,
  },
  select: sql`sessions.application_id, a.name as application_name, method, assurance, on_behalf_by, ip_address, user_agent, began_at, expires_at,
    ${lastSignIn('sessions')} as auth_time`,
  order: [sessions.beganAt, sessions.applicationId],
  join: sql`join applications a on a.id = sessions.application_id and a.deleted_at is null`,
  where: sql`user_id = ${p.uuid('userId')} and expires_at + ${renewableFor} > ${p.instant('now')}
    and not (${isRefusedNow(sql`sessions.application_id`, sql`sessions.user_id`)})`,
  requireParent: (call, { userId }) => getUser(call, { userId }),
});
