import { type SQL, sql } from 'drizzle-orm';
import { renewableFor } from '../../database/schema/session-schema.ts';
import { p } from '../../database/sql/template.ts';
import { jsonObject, type Message, toIsoText } from './insert-message.ts';

/**
 * Returns the message to each application to which the user has signed in.
 *
 * @param changed a CTE with the columns of `userColumns`
 */
export function userMessage(type: 'user.updated' | 'user.deactivated', changed: SQL): Message {
  return {
    ...toApplicationsOf(changed),
    type,
    userId: sql`changed.id`,
    data: jsonObject({
      id: sql`changed.id`,
      email: sql`changed.email`,
      name: sql`changed.name`,
      profileImage: sql`changed.profile_image`,
      walletAddress: sql`changed.wallet_address`,
      isActive: sql`changed.deactivated_at is null`,
      firstSignedInAt: toIsoText(sql`signed_in.first_signed_in_at`),
    }),
  };
}

/**
 * Returns the message to the calling application about the first sign-in of a user. There is none if an operator has added
 * the user, because the application has got the message of `userAdded`. Parameters: now, userId.
 *
 * @param begun a CTE with the user's session
 * @param joined a CTE with the user's ID, and `is_new` if the user is new to the application
 */
export function userJoined(begun: SQL, joined: SQL): Message {
  const signedInAt = toIsoText(p.instant('now'));
  return {
    type: 'user.created',
    userId: sql`begun.user_id`,
    data: jsonObject({ ...newUser(sql`begun.user_id`), firstSignedInAt: signedInAt }),
    from: sql`${begun} as begun join ${joined} as joined on joined.user_id = begun.user_id
      where joined.is_new and not exists (select 1 from added_users a
        where a.application_id = ${p.uuid('applicationId')} and a.user_id = ${p.uuid('userId')})`,
  };
}

/**
 * Returns the message to each application about a user whom an operator has added.
 *
 * @param added a CTE with the new rows of `added_users`
 * @param user a CTE or table with the columns of `users`
 * @param condition excludes a user who has signed in to the application before, and had the message of `userJoined`
 * then. A new user needs no condition.
 */
export function userAdded(added: SQL, user: SQL, condition = sql`true`): Message {
  return {
    type: 'user.created',
    applicationId: sql`added.application_id`,
    userId: sql`created.id`,
    data: jsonObject(newUser(sql`created.id`)),
    from: sql`${added} as added join ${user} as created on created.id = added.user_id where ${condition}`,
  };
}

const PROFILE = {
  email: sql`email`,
  name: sql`name`,
  profileImage: sql`profile_image`,
  walletAddress: sql`wallet_address`,
};

/** The fields of a user who is new to an application, from the columns of `users`. */
function newUser(id: SQL) {
  return { id, ...PROFILE, isActive: sql`true` };
}

/** Returns the message to each application of a deleted user. Its only field is the ID of the user. */
export function userDeleted(deleted: SQL): Message {
  return { ...toApplicationsOf(deleted), type: 'user.deleted', data: jsonObject({ id: sql`changed.id` }) };
}

/**
 * Returns the message about a new session, with the fields that lists of sessions have. The ID is a secret, and left
 * out.
 */
export function sessionCreated(begun: SQL): Message {
  const session = {
    userId: sql`user_id`,
    user: jsonObject(PROFILE),
    createdAt: toIsoText(sql`created_at`),
    expiresAt: toIsoText(sql`expires_at`),
    ipAddress: sql`ip_address`,
    userAgent: sql`user_agent`,
    method: sql`method`,
    onBehalfBy: sql`on_behalf_by`,
  };
  return { type: 'session.created', userId: sql`user_id`, data: jsonObject(session), from: begun };
}

/**
 * Returns the message to the calling application about the session that the CTE `ended` has deleted, if the session was
 * live or could be renewed. Parameter: now.
 */
export function sessionRevoked(ended: SQL): Message {
  return {
    type: 'session.revoked',
    data: jsonObject({ userId: sql`ended.user_id` }),
    from: sql`${ended} as ended ${joinOpen(sql`ended.application_id`)}
      where ended.expires_at + ${renewableFor} > ${p.instant('now')}`,
  };
}

/** Returns the same message to the application of each session. Parameter: now. */
export function sessionsRevoked(ended: SQL): Message {
  return { ...sessionRevoked(ended), applicationId: sql`ended.application_id` };
}

function toApplicationsOf(changed: SQL): Pick<Message, 'applicationId' | 'from'> {
  const applicationId = sql`signed_in.application_id`;
  const from = sql`${changed} as changed
    join application_users as signed_in on signed_in.user_id = changed.id ${joinOpen(applicationId)}`;
  return { applicationId, from };
}

function joinOpen(applicationId: SQL): SQL {
  return sql`join applications a on a.id = ${applicationId} and a.deleted_at is null`;
}
