/** What has ended sessions and grants, as callers read it that check sessions in their own memory. */
import { type SQL, sql } from 'drizzle-orm';
import { statementInstant } from '../../database/sql/instants.ts';
import { p } from '../../database/sql/template.ts';
import { EVERY_REFUSED, EVERY_RULE, EVERY_USER } from './cutoffs.ts';

interface Ending {
  /** The rows of the table "Revocations" of the API page, and the statements that write what `rows` selects. */
  readonly doors: readonly string[];
  readonly statements: readonly string[];
  /** Selects what has changed from the parameter `from` on. Parameters: applicationId, from, instant. */
  readonly rows: SQL;
}

const isChanged = sql`c.changed_at >= ${p.instant('from')}`;
const isOfApplication = sql`c.application_id = ${p.uuid('applicationId')}`;

/** What ends many is not told user by user: readers ask again for every sign-in up to a little later than now. */
const SOON = sql`${statementInstant} + interval '5 seconds'`;

/** All that ends a session or grant before its expiry. A test compares this with the API page and with all statements. */
export const ENDINGS: readonly Ending[] = [
  {
    // A browser stands in the place of a user, too: its grants are told instead.
    doors: [
      'RevokeSession',
      'RevokeUserSessions',
      'RemoveApplicationUser',
      'a lost access to a restricted application',
      'a sign-out of the last browser on the account page',
    ],
    statements: [
      ...['end_renewable_session', 'end_renewable_session_and_forget', 'end_sessions_of_user'],
      ...['end_sessions_of_user_and_forget', 'end_sessions_where_signed_in', 'delete_application_user'],
      ...['delete_group_member', 'cut_off_refused', 'cut_off_refused_of_application', 'end_refused_users'],
      ...['end_group_members', 'remove_personal_data', 'delete_late_session'],
    ],
    rows: sql`select c.user_id, null::uuid as grant_id, c.cutoff_at, c.changed_at from session_cutoffs c
      where ${isOfApplication} and ${isChanged} and exists (select 1 from users u where u.id = c.user_id)`,
  },
  {
    doors: [
      ...['EndUserSessions', 'DeactivateUser', 'ReactivateUser', 'DeleteUser', 'EraseUser'],
      'a recovery link',
      'an undone change of the address',
    ],
    statements: [
      ...['end_sessions_everywhere', 'mark_user_deactivated', 'mark_user_active', 'mark_user_deleted', 'erase_user'],
      ...['erase_unused_user', 'use_recovery_link', 'end_late_of_recovery', 'restore_email'],
    ],
    rows: sql`select c.user_id, null::uuid, c.cutoff_at, c.changed_at from user_cutoffs c
      where ${isChanged} and exists (
        select 1 from application_users a where a.application_id = ${p.uuid('applicationId')} and a.user_id = c.user_id)`,
  },
  {
    doors: [
      ...['EndGrant', 'EndUserGrant', '/oidc/revoke'],
      'a refresh token that is used again',
      "a sign-out in a browser: on Usher's pages, or by OpenID Connect",
      'a client that is removed on the account page, or unlisted',
    ],
    statements: [
      ...['end_oidc_grant', 'end_oidc_grant_and_forget', 'end_oidc_grants_of_browser', 'end_oidc_grants_of_client'],
      'end_late_oidc_grant',
    ],
    rows: sql`select null::uuid, c.id, c.ended_at, c.ended_at from oidc_grants c
      where ${isOfApplication} and c.ended_at >= ${p.instant('from')}`,
  },
  {
    doors: ['DeleteApplication', 'a change of the rules of an application'],
    statements: ['mark_application_deleted', 'update_application', 'store_group_access', 'mark_group_deleted'],
    // While those whom a restriction refuses are not told one by one, each answer tells it.
    rows: sql`select null::uuid, null::uuid, ${SOON}, ${statementInstant} from session_cutoffs c
      where ${isOfApplication} and c.user_id in (${EVERY_USER}, ${EVERY_REFUSED}, ${EVERY_RULE})
        and (${isChanged} or c.user_id = ${EVERY_REFUSED})`,
  },
];
