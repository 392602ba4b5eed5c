/** Lists grants: the applications to which users are signed in by OpenID Connect. */
import { sql } from 'drizzle-orm';
import { oidcGrants } from '../../database/schema/oidc-schema.ts';
import { applications } from '../../database/schema/schema.ts';
import { columnsOf, p, t } from '../../database/sql/template.ts';
import { optional, uuid } from '../core/validation.ts';
import { createList, ofApplication, selectPage } from '../pages/list.ts';
import { isGrantAfterEveryCutoff, latestCutoff } from '../sessions/cutoffs.ts';
import type { SignInMethod } from '../tokens/verify-token.ts';
import { getUser } from '../users/get-user.ts';

const columns = {
  grantId: oidcGrants.id,
  userId: oidcGrants.userId,
  sid: oidcGrants.sid,
  scope: oidcGrants.scope,
  scopeNames: oidcGrants.scopeNames,
  clientId: oidcGrants.clientId,
  method: t.textOf<SignInMethod>(),
  assurance: oidcGrants.assurance,
  ipAddress: oidcGrants.ipAddress,
  userAgent: oidcGrants.userAgent,
  authTime: t.instant,
  createdAt: oidcGrants.createdAt,
  expiresAt: oidcGrants.expiresAt,
};

const { authTime: _, ...stored } = columns;

const isActive = sql`exists (
  select 1 from users u where u.id = oidc_grants.user_id and u.deleted_at is null and u.deactivated_at is null)`;

const page = {
  columns,
  select: sql`${columnsOf(stored)}, authenticated_at as auth_time`,
  order: [oidcGrants.createdAt, oidcGrants.id],
} as const;

const rules = { userId: optional(uuid) };

const isOfApplication = sql`application_id = ${p.uuid('applicationId')} and expires_at > ${p.instant('now')}
  and authenticated_at > ${latestCutoff(sql`oidc_grants.user_id`)} and ${isActive}`;

/** Returns a page of the live grants of the application, or of one of its users. */
export const listGrants = createList('select_oidc_grants', {
  ...page,
  name: 'grants',
  of: ofApplication,
  rules,
  among: sql`application_id = ${p.uuid('applicationId')}`,
  where: isOfApplication,
  find: ({ userId }) => (userId === null ? undefined : selectGrantsOfUser),
});

// A separate statement: if the user were optional in one statement, Postgres would read all grants of the application.
const selectGrantsOfUser = selectPage('select_oidc_grants_of_user', {
  ...page,
  where: sql`user_id = ${p.uuid('userId')} and ${isOfApplication}`,
});

/** Returns a page of a user's grants in every application. @throws ServiceError `User not found` */
export const listUserGrants = createList('select_user_oidc_grants', {
  name: 'user grants',
  rules: { userId: uuid },
  columns: { ...columns, applicationId: oidcGrants.applicationId, applicationName: applications.name },
  select: sql`${columnsOf(stored, 'oidc_grants')}, authenticated_at as auth_time, application_id,
    a.name as application_name`,
  order: [oidcGrants.createdAt, oidcGrants.id],
  join: sql`join applications a on a.id = oidc_grants.application_id and a.deleted_at is null`,
  where: sql`user_id = ${p.uuid('userId')} and expires_at > ${p.instant('now')} and ${isGrantAfterEveryCutoff}`,
  requireParent: (call, { userId }) => getUser(call, { userId }),
});
