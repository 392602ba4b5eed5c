import { groupMembers, groups } from '../../../database/schema/group-schema.ts';
import { loginIntents } from '../../../database/schema/intent-schema.ts';
import { invitations } from '../../../database/schema/invitation-schema.ts';
import { applications } from '../../../database/schema/schema.ts';
import { nullable, p, statement, t } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import { listAccountSessions } from '../../../domain/grants/list-account-sessions.ts';
import { selectOwnAttempts } from '../../../domain/login/list-sign-in-attempts.ts';
import { linkState, recoveryLinkColumns } from '../../../domain/recovery/recovery-link.ts';
import type { User } from '../../../domain/users/user.ts';

/**
 * Returns the stored data about a user, for an export as JSON. Secrets, such as session IDs, are left out.
 *
 * @param sections add fields
 */
export async function exportAccount(
  call: Call,
  user: User,
  sections: readonly { exportData?(call: Call, userId: string): Promise<object> }[],
) {
  const userId = user.id;
  const [sessions, logins, attempts, memberships, ofGroups, invited, recoveries, [origins], ...others] =
    await Promise.all([
      listAccountSessions(call, userId),
      call.run(selectLogins, { userId }),
      call.run(selectOwnAttempts, { userId }),
      call.run(selectMemberships, { userId }),
      call.run(selectOwnGroups, { userId }),
      call.run(selectInvitations, { userId }),
      call.run(selectRecoveries, { userId, now: call.now }),
      call.run(countKnownOrigins, { userId, now: call.now }),
      ...sections.map((section) => section.exportData?.(call, userId) ?? {}),
    ]);
  const { deactivatedAt: _, ...profile } = user;
  return {
    exportedAt: call.now,
    user: profile,
    sessions: sessions.map(({ sid: _sid, browserDigest: _digest, ...session }) => session),
    logins,
    signInAttempts: attempts,
    applications: memberships,
    groups: ofGroups,
    invitations: invited,
    recoveryLinks: recoveries,
    ...origins,
    ...Object.assign({}, ...others),
  };
}

/** Recent logins only: the expiry job removes login intents within two hours. */
const selectLogins = statement('select_account_logins', {
  applicationId: loginIntents.applicationId,
  completedAt: nullable(t.instant),
  method: nullable(t.text),
  ipAddress: loginIntents.ipAddress,
  userAgent: loginIntents.userAgent,
})`
  select application_id, completed_at, method, ip_address, user_agent from login_intents
  where user_id = ${p.uuid('userId')} order by completed_at desc, id limit 1000`;

const selectMemberships = statement('select_account_applications', {
  id: applications.id,
  name: applications.name,
  firstSignedInAt: nullable(t.instant),
  addedAt: nullable(t.instant),
})`
  -- Equivalent: argument: an application has at most one of each
  select a.id, a.name, max(m.first_signed_in_at) as first_signed_in_at, max(m.added_at) as added_at
  from (
    select application_id, first_signed_in_at, null::timestamptz as added_at from application_users
    where user_id = ${p.uuid('userId')}
    union all
    select application_id, null, added_at from added_users where user_id = ${p.uuid('userId')}
  ) m join applications a on a.id = m.application_id and a.deleted_at is null
  group by a.id, a.name order by a.name, a.id
  -- Equivalent: limit: nobody has so many
  limit 10000`;

const { applicationId, email, createdAt, expiresAt, acceptedAt } = invitations;

const selectInvitations = statement('select_account_invitations', {
  ...{ applicationId, email, createdAt, expiresAt, acceptedAt },
})`
  select application_id, email, created_at, expires_at, accepted_at from invitations
  where user_id = ${p.uuid('userId')} order by created_at desc, id limit 1000`;

const { createdBy: _, recoveryLinkId: __, userId: ___, ...recoveryColumns } = recoveryLinkColumns;

/** Who has made them is not the user's data. */
const selectRecoveries = statement('select_account_recoveries', recoveryColumns)`
  select created_at, usable_at, expires_at, removes, ${linkState('recovery_links')} from recovery_links
  where user_id = ${p.uuid('userId')} order by created_at desc, id limit 1000`;

/** Exported as a number: browsers and networks are stored as HMACs, which tell the user nothing. */
const countKnownOrigins = statement('count_known_origins', { knownBrowsersAndNetworks: t.integer })`
  select count(*)::integer as known_browsers_and_networks from known_origins
  where user_id = ${p.uuid('userId')} and expires_at > ${p.instant('now')}`;

/** The groups of a user, by name. */
export const selectOwnGroups = statement('select_account_groups', {
  name: groups.name,
  displayName: groups.displayName,
  addedAt: groupMembers.addedAt,
})`
  select g.name, g.display_name, m.added_at from group_members m join groups g on g.id = m.group_id and g.deleted_at is null
  where m.user_id = ${p.uuid('userId')} order by g.name`;
