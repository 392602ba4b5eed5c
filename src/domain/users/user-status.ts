import { and, isNull } from 'drizzle-orm';
import { users } from '../../database/schema.ts';

/** Selects users who can sign in. */
export const isActiveUser = and(isNull(users.deletedAt), isNull(users.deactivatedAt));
