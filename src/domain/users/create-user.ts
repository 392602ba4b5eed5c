import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { anyOf } from '../../database/any-of.ts';
import { p, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { listOf } from '../core/compound-rules.ts';
import { ServiceError } from '../core/errors.ts';
import { check, optional, type Unchecked, uuid } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { userAdded } from '../outbox/user-messages.ts';
import { isEmailTaken, spellingsOf } from './same-email.ts';
import { profileRules, type User } from './user.ts';

const rules = { ...profileRules, applicationIds: optional(listOf(uuid, { min: 0, max: 100 })) };

/**
 * Creates a user of the given applications.
 *
 * @throws ServiceError `User already exists` if another user has the e-mail or wallet address, in any spelling;
 * `Application not found`
 */
export async function createUser({ run, now, onMessage }: Call, request: Unchecked<keyof typeof rules>): Promise<User> {
  const { applicationIds: given, ...profile } = check(request, rules);
  const applicationIds = [...new Set(given ?? [])];
  if (applicationIds.length > 0) {
    const known = await run(selectApplications, { applicationIds });
    if (known.length < applicationIds.length) throw new ServiceError('APPLICATION_NOT_FOUND');
  }
  const user = { id: randomUUID(), ...profile, createdAt: now, deactivatedAt: null };
  const [created] = await run(insertUser, { ...user, ...spellingsOf(user.email), applicationIds, now });
  if (!created) throw new ServiceError('USER_ALREADY_EXISTS');
  announce(onMessage, created);
  return user;
}

const insertUser = statement('insert_user', HAS_MESSAGES)`
  with created as (
    insert into users (id, email, name, profile_image, wallet_address, created_at)
    select ${p.uuid('id')}, ${p.text('email')}, ${p.text('name')}, ${p.text('profileImage')},
      ${p.text('walletAddress')}, ${p.instant('createdAt')}
    where not ${isEmailTaken}
    on conflict do nothing returning *
  ), added as (
    insert into added_users (application_id, user_id, added_at)
    select application_id, id, ${p.instant('createdAt')}
    from created, unnest(${p.uuids('applicationIds')}) as application_id
    returning application_id, user_id
  ), ${auditEvent({ resource: sql`id`, from: sql`created`, applicationId: noApplication })},
  ${messagesOf(userAdded(sql`added`, sql`created`))}
  select ${notified} from created`;

const selectApplications = statement('select_applications_of_user')`
  select from applications where id = ${anyOf(p.uuids('applicationIds'))} and deleted_at is null`;
