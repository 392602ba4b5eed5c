import { index, integer, pgTable, primaryKey, smallint, text, uuid } from 'drizzle-orm/pg-core';
import { instant } from './schema.ts';

/**
 * The sign-ins that applications have tokens of OpenID Connect for. A grant ends when its row expires, or by a cut-off,
 * as sessions do. What ends a grant sets its expiry to 1970. Refreshes of confidential clients only read it.
 */
export const oidcGrants = pgTable(
  'oidc_grants',
  {
    applicationId: uuid('application_id').notNull(),
    /** The login intent whose code was redeemed. */
    id: uuid('id').notNull(),
    userId: uuid('user_id').notNull(),
    /** The same for all sign-ins to the application in one browser, of one user. */
    sid: uuid('sid').notNull(),
    scope: smallint('scope').notNull(),
    method: text('method').notNull(),
    ipAddress: text('ip_address').notNull(),
    userAgent: text('user_agent').notNull(),
    authenticatedAt: instant('authenticated_at').notNull(),
    /** How often the refresh token of a public client was replaced, from 1. 0 for a confidential client, whose token stays. */
    rotation: integer('rotation').notNull(),
    rotatedAt: instant('rotated_at'),
    createdAt: instant('created_at').notNull(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.applicationId, table.id] }),
    index('oidc_grants_list_idx').on(table.applicationId, table.createdAt, table.id),
    index('oidc_grants_user_id_idx').on(table.userId),
    index('oidc_grants_expires_at_idx').on(table.expiresAt),
  ],
);
