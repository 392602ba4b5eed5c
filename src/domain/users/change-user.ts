import { sql } from 'drizzle-orm';
import type { PgUpdateSetSource } from 'drizzle-orm/pg-core';
import type { Db } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { insertAuditEvent, noApplication } from '../audit/audit-event.ts';
import { type HasMessages, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { userMessage } from '../webhooks/user-messages.ts';
import { isExistingUser, pickUser, type User, userColumns } from './user.ts';

export type ChangedUser = { readonly user: User } & HasMessages;

/** Changes columns of a user, tells every application of it, and returns the user. Placeholders: userId, now. */
export function changeUser(db: Db, changes: PgUpdateSetSource<typeof users>, condition = isExistingUser) {
  const changed = db.$with('changed').as(db.update(users).set(changes).where(condition).returning(userColumns));
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`changed`, applicationId: noApplication });
  const message = insertMessages(db, userMessage('user.updated', sql`${changed}`));
  return db
    .with(changed, audit, message)
    .select({ user: pickUser(changed), notifiedIds })
    .from(changed);
}
