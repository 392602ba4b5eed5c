import { sql } from 'drizzle-orm';
import { p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { userAdded } from '../outbox/user-messages.ts';
import { removeIfErased } from './personal-data.ts';

const rules = { applicationId: uuid, userId: uuid };

/**
 * Adds a user to an application in which the user has not signed in yet.
 *
 * @throws ServiceError `Application not found`, `User not found`
 */
export async function addApplicationUser(call: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const parameters = check(request, rules);
  const found = await call.run(insertAddedUser, { ...parameters, now: call.now });
  announce(call.onMessage, requireBoth(found));
  if (await removeIfErased(call, parameters.userId)) throw new ServiceError('USER_NOT_FOUND');
}

/** Returns the row of the statement. @throws ServiceError `Application not found`, `User not found` */
export function requireBoth<Row extends RowOfType<typeof FOUND_BOTH>>([found]: readonly Row[]): Row {
  if (!found?.hasApplication) throw new ServiceError('APPLICATION_NOT_FOUND');
  if (!found.hasUser) throw new ServiceError('USER_NOT_FOUND');
  return found;
}

/** The row type of `foundBoth`. */
export const FOUND_BOTH = { hasApplication: t.boolean, hasUser: t.boolean };

/** Selects whether the application and the user exist. Parameters: applicationId, userId. */
export const foundBoth = sql`
  exists (select 1 from applications where id = ${p.uuid('applicationId')} and deleted_at is null) as has_application,
  exists (select 1 from users where id = ${p.uuid('userId')} and deleted_at is null) as has_user`;

/** Compares with parameters: a subquery on a distributed table must not refer to the rows of a CTE. */
const isNew = sql`not exists (
  select 1 from application_users s
  where s.application_id = ${p.uuid('applicationId')} and s.user_id = ${p.uuid('userId')})`;

const insertAddedUser = statement('insert_added_user', { ...FOUND_BOTH, ...HAS_MESSAGES })`
  with added as (
    insert into added_users (application_id, user_id, added_at)
    select a.id, u.id, ${p.instant('now')} from applications a, users u
    where a.id = ${p.uuid('applicationId')} and a.deleted_at is null
      and u.id = ${p.uuid('userId')} and u.deleted_at is null
    on conflict do nothing returning application_id, user_id
  ), kept as (
    -- The access is given by more than an invitation now, which no longer takes it away.
    update invitations v set created_user = false,
      added_user = v.added_user and v.application_id <> ${p.uuid('applicationId')}
    from applications a
    where v.user_id = ${p.uuid('userId')} and (v.created_user or v.added_user)
      and a.id = ${p.uuid('applicationId')} and a.deleted_at is null
  ), ${auditEvent({ resource: sql`user_id`, from: sql`added` })}, ${messagesOf(userAdded(sql`added`, sql`users`, isNew))}
  select ${foundBoth}, ${notified}`;
