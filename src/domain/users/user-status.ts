import { and, eq, isNotNull, isNull, sql } from 'drizzle-orm';
import { users } from '../../database/schema.ts';

/** Selects users who can sign in. */
export const isActiveUser = and(isNull(users.deletedAt), isNull(users.deactivatedAt));

/** Selects users whose profile EraseUser has emptied. */
export const isErasedUser = and(isNotNull(users.deletedAt), eq(users.email, sql`''`), eq(users.walletAddress, sql`''`));
