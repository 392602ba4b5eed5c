import { createHash, randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { DAY_MS } from '../../database/schema/table-facts.ts';
import { anyOf } from '../../database/sql/any-of.ts';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall, Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import {
  check,
  emailAddress,
  identifier,
  integer,
  listOf,
  optional,
  orDefault,
  text,
  type Unchecked,
  uuid,
} from '../core/validation.ts';
import { hmac } from '../crypto/derived-keys.ts';
import { foldEmail } from '../login/known-origins.ts';
import type { LoginCodeKeys } from '../login/login-code.ts';
import { isMutedForStrangers } from '../login/muted-addresses.ts';
import { ONCE_A_DAY, type RateLimit, takePermit } from '../login/rate-limit.ts';
import { noticeParameters, noticesOf } from '../notices/store-notice.ts';
import { toIsoText } from '../outbox/insert-message.ts';
import { canonicalFirst, isSameEmail, spellingsOf } from '../users/find-user-by-email.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { type Invitation, invitationColumns, toInvitation } from './invitation.ts';

const DEFAULT_DAYS = 30;

/** Of an application: 100 at once, and 100 an hour. */
const INVITATIONS: RateLimit = { burst: 100, intervalMs: 36_000 };
const MAX_OPEN = 1_000;
/** How often a statement runs that has met a concurrent insert of the same user. */
const TRIES = 3;

const rules = {
  email: emailAddress,
  name: optional(identifier),
  locale: optional(text({ min: 0, max: 200 })),
  expiresInDays: orDefault(integer({ min: 1, max: 90 }), DEFAULT_DAYS),
};
const operatorRules = { applicationId: uuid, ...rules, groupIds: orDefault(listOf(uuid, { min: 0, max: 100 }), []) };

/**
 * Invites the owner of an e-mail address to the application. The answer is the same whether the address had a user. An
 * open invitation is renewed instead of doubled, except one to groups of an operator, which stays as it is. One that has
 * expired is replaced.
 *
 * @throws ServiceError `Invitations not allowed`, `Mail not configured`, `Too many invitations`
 */
export function inviteUser(
  call: ApplicationCall,
  keys: LoginCodeKeys,
  request: Unchecked<keyof typeof rules>,
): Promise<Invitation> {
  const fields = check(request, rules);
  return invite(call, keys, { ...fields, applicationId: call.application.id, groupIds: [], isByOperator: false });
}

/**
 * The same by an operator, who needs no permission of the application, and may name groups that the user joins.
 *
 * @throws ServiceError `Application not found`, `Group not found`, and as `inviteUser` does
 */
export async function inviteUserAsOperator(
  call: Call,
  keys: LoginCodeKeys,
  request: Unchecked<keyof typeof operatorRules>,
): Promise<Invitation> {
  const { groupIds, ...fields } = check(request, operatorRules);
  return invite(call, keys, { ...fields, groupIds: [...new Set(groupIds)], isByOperator: true });
}

interface Wanted {
  readonly applicationId: string;
  readonly email: string;
  readonly name: string | null;
  readonly locale: string | null;
  readonly expiresInDays: number;
  readonly groupIds: readonly string[];
  readonly isByOperator: boolean;
}

async function invite(call: Call, keys: LoginCodeKeys, wanted: Wanted): Promise<Invitation> {
  const { applicationId, email, name, locale, expiresInDays, groupIds, isByOperator } = wanted;
  const { run, now, notices } = call;
  const [application] = await run(selectInviter, { applicationId, ...spellingsOf(email), now });
  if (!application) throw new ServiceError('APPLICATION_NOT_FOUND');
  if (!isByOperator && !application.allowsInvitations) throw new ServiceError('INVITATIONS_NOT_ALLOWED');
  if (!notices) throw new ServiceError('MAIL_NOT_CONFIGURED');
  // Equivalent: comparison: of no groups, none is missing
  if (groupIds.length > 0) await requireGroups(call, groupIds);
  if (application.otherInvitations >= MAX_OPEN) throw new ServiceError('TOO_MANY_INVITATIONS');
  const ofApplication = createHash('sha256').update(`invitations of ${applicationId}`).digest();
  if (!(await takePermit(call, ofApplication, INVITATIONS))) throw new ServiceError('TOO_MANY_INVITATIONS');
  const isSent = await mayMail(call, keys, email);
  const notice = noticeParameters(call, { applicationId, locale });
  const parameters = {
    ...spellingsOf(email),
    ...notice,
    // Without a language, the statement stores no notice.
    noticeLanguage: isSent ? notice.noticeLanguage : null,
    applicationId,
    email,
    name,
    groupIds,
    isByOperator,
    now,
    userId: randomUUID(),
    id: randomUUID(),
    expiresAt: new Date(now.getTime() + expiresInDays * DAY_MS),
  };
  for (let tries = 1; tries <= TRIES; tries++) {
    const [row] = await run(insertInvitation, parameters);
    // A sign-up or another invitation has created the user meanwhile, whom this statement could not see.
    if (!row) continue;
    if (isSent) notices.wake();
    // An erasure that has committed meanwhile has not seen the invitation. The answer stays the same.
    await removeIfErased(call, row.userId);
    return toInvitation(row);
  }
  throw new ServiceError('SERVICE_UNAVAILABLE');
}

/** One e-mail a day, and none to a muted address. Callers do not learn it: other applications may have sent it. */
async function mayMail(call: Call, keys: LoginCodeKeys, email: string): Promise<boolean> {
  const isMuted = await isMutedForStrangers(call, keys, email);
  const key = hmac(keys[0], `invitations to ${foldEmail(email)}`);
  return (await takePermit(call, key, ONCE_A_DAY)) && !isMuted;
}

async function requireGroups({ run }: Call, groupIds: readonly string[]): Promise<void> {
  const found = await run(selectGroups, { groupIds });
  if (found.length < groupIds.length) throw new ServiceError('GROUP_NOT_FOUND');
}

const selectGroups = statement(
  'select_groups_of_invitation',
)`select from groups where id = ${anyOf(p.uuids('groupIds'))} and deleted_at is null`;

const isOpen = sql`v.accepted_at is null and v.expires_at > ${p.instant('now')}`;

const hasExpired = sql`v.expires_at <= ${p.instant('now')}`;

/** To renew an invitation needs no room for another one. */
const selectInviter = statement('select_inviter', { allowsInvitations: t.boolean, otherInvitations: t.integer })`
  select a.allow_invitations as allows_invitations, (
    select count(*) from invitations v where v.application_id = ${p.uuid('applicationId')} and ${isOpen}
      and not ${isSameEmail(sql`v.email`)}
  )::integer as other_invitations
  from applications a where a.id = ${p.uuid('applicationId')} and a.deleted_at is null`;

const insertInvitation = statement('insert_invitation', invitationColumns)`
  with known as (
    select id from users where ${isSameEmail(sql`email`)} and deleted_at is null order by ${canonicalFirst()} limit 1
  ), created as (
    insert into users (id, email, name, wallet_address, created_at)
    select a.id, ${p.text('email')}, ${p.text('name')}, '', ${p.instant('now')}
    from (select ${p.uuid('userId')} as id) a where not exists (select 1 from known)
    on conflict do nothing returning id
  ), invitee as (
    select id, false as is_created from known union all select id, true from created
  ), added as (
    insert into added_users (application_id, user_id, added_at)
    select ${p.uuid('applicationId')}, id, ${p.instant('now')} from invitee
    on conflict do nothing returning user_id
  ), invited as (
    insert into invitations as v
      (application_id, id, email, user_id, created_user, added_user, group_ids, created_at, expires_at)
    select ${p.uuid('applicationId')}, ${p.uuid('id')}, ${p.text('email')}, id, is_created,
      exists (select 1 from added) or exists (
        -- Of an invitation that the user has accepted.
        select 1 from invitations o
        where o.application_id = ${p.uuid('applicationId')} and o.user_id = invitee.id and o.added_user), ${p.uuids('groupIds')}, ${p.instant('now')}, ${p.instant('expiresAt')}
    from invitee
    on conflict (application_id, user_id) where accepted_at is null do update
      set email = excluded.email, added_user = v.added_user or excluded.added_user,
        id = case when ${hasExpired} then excluded.id else v.id end,
        created_at = case when ${hasExpired} then excluded.created_at else v.created_at end,
        on_behalf_at = case when not ${hasExpired} then v.on_behalf_at end,
        -- Applications name no groups, and prolong none that an operator has named.
        expires_at = case when ${hasExpired} or ${p.boolean('isByOperator')} or v.group_ids = '{}'
          then excluded.expires_at else v.expires_at end,
        group_ids = case when ${hasExpired} or excluded.group_ids <> '{}' then excluded.group_ids else v.group_ids end
    returning ${columnsOf(invitationColumns)}
  ), ${auditEvent({ resource: sql`user_id`, from: sql`invited` })}, ${noticesOf({
    kind: 'invitation',
    from: sql`invited`,
    userId: sql`user_id`,
    recipient: sql`email`,
    value: toIsoText(sql`expires_at`),
  })}
  select ${columnsOf(invitationColumns)} from invited`;
