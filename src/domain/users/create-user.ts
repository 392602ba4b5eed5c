import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import type { Run } from '../../database/pool/database.ts';
import { anyOf } from '../../database/sql/any-of.ts';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { type ErrorReason, ServiceError } from '../core/errors.ts';
import { check, listOf, optional, type Unchecked, uuid } from '../core/validation.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { userAdded } from '../outbox/user-messages.ts';
import { isEmailTaken, spellingsOf } from './find-user-by-email.ts';
import { profileRules, type User } from './user.ts';

const rules = { ...profileRules, applicationIds: optional(listOf(uuid, { min: 0, max: 100 })) };

/**
 * Creates a user of the given applications.
 *
 * @throws ServiceError `User already exists` if another user has the e-mail or wallet address, in any spelling;
 * `External ID already exists`; `Application not found`
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
  if (!created) throw new ServiceError(await reasonFor(run, user));
  announce(onMessage, created);
  return user;
}

/** Returns why there is no user: one of the two is taken. */
async function reasonFor(run: Run, { externalId }: Pick<User, 'externalId'>): Promise<ErrorReason> {
  const taken = externalId === null ? [] : await run(selectExternalId, { externalId });
  return taken.length > 0 ? 'EXTERNAL_ID_ALREADY_EXISTS' : 'USER_ALREADY_EXISTS';
}

const selectExternalId = statement('select_external_id')`
  select from users where external_id = ${p.text('externalId')} and deleted_at is null`;

const insertUser = statement('insert_user', HAS_MESSAGES)`
  with created as (
    insert into users (id, email, name, profile_image, wallet_address, external_id, attributes, created_at)
    select ${p.uuid('id')}, ${p.text('email')}, ${p.text('name')}, ${p.text('profileImage')},
      ${p.text('walletAddress')}, ${p.text('externalId')}, ${p.jsonb('attributes')}, ${p.instant('createdAt')}
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
