/**
 * Does the rest of changes that concern many users, in batches: ends the sign-ins of those who have lost the access to
 * an application, tells applications of the members of a group, and removes what a statement could not see yet.
 */
import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/pool/database.ts';
import { columnsOf, nullable, p, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { claimed, findUnfinished, isAt, leaseUntil, type UnfinishedChange } from '../core/unfinished-changes.ts';
import { announce, HAS_MESSAGES, messagesOf, notified } from '../outbox/insert-message.ts';
import { HERE } from '../outbox/logout-message.ts';
import { userMessage } from '../outbox/user-messages.ts';
import { CUTOFF_LIFETIME_MS, isGrantAfterOwnCutoffs, removeCutoffOfRefused, runCutoff } from '../sessions/cutoffs.ts';
import { endLateSessions } from '../sessions/late-sessions.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { userColumns } from '../users/user.ts';
import { createErasure, eraseUserIf, removeLateCredentials } from './end-user.ts';
import { cutOffLost, cutOffRefused, cutOffRefusedOfOne, lossMessages } from './lost-access.ts';

/**
 * Erases the user of a withdrawn invitation who is nothing but that invitation: nobody has ever signed in as the user,
 * and no operator has given the user anything. Usher keeps no addresses of strangers. An invitation no longer says that
 * it has created the user once an operator has changed the user, or has let the user into an application.
 */
async function removeInvitedUser(call: Call, userId: string): Promise<void> {
  // Without a notice: the person never had an account.
  await eraseUserIf(call, eraseUnused, userId);
}

/** The subqueries compare with the parameter: one on a distributed table must not refer to rows of another table. */
const userId = p.uuid('userId');

const eraseUnused = createErasure(
  'erase_unused_user',
  sql`
    select u.id from users u
    where u.id = ${userId} and u.deleted_at is null and u.deactivated_at is null and u.wallet_address = ''
      and u.email_verified_at is null and u.email_changed_at is null
      and u.profile_image is null and u.external_id is null and u.attributes is null
      and not exists (select 1 from application_users where user_id = ${userId})
      and not exists (select 1 from added_users where user_id = ${userId})
      and not exists (select 1 from invitations where user_id = ${userId})
      and not exists (select 1 from group_members where user_id = ${userId})
      and not exists (select 1 from login_intents where user_id = ${userId})
      and not exists (select 1 from sessions where user_id = ${userId})
      and not exists (select 1 from oidc_grants where user_id = ${userId})
      and not exists (select 1 from passkeys where user_id = ${userId})
      and not exists (select 1 from user_identities where user_id = ${userId})
      and not exists (select 1 from webhooks where owner_id = ${userId})`,
);

/** Rows of a batch, or pairs of a user and an application. */
const BATCH = 500;
/** Before every ID. */
const START = '00000000-0000-0000-0000-000000000000';

/**
 * No token of a sign-in from before the change lives longer, and no statement that had not seen the change. So nobody
 * comes in again after the second look.
 */
const SECOND_LOOK_MS = 20 * 60_000;

/** How long a call goes on with its change, before it leaves the rest to the job. */
const CALL_MS = 1_000;

interface Batch {
  readonly userIds: readonly string[];
  /** The last row of the batch. Absent if no rows are left. */
  readonly next?: string | undefined;
}

interface Step {
  /** How long after the change it begins. */
  readonly waitMs?: number;
  readonly read: (call: Call, change: UnfinishedChange) => Promise<Batch>;
  /** Does what is to be done about the users of the batch. */
  readonly end: Statement<Done[]>;
}

const DONE = { userIds: t.json<readonly string[]>(), ...HAS_MESSAGES };
type Done = { readonly userIds: readonly string[]; readonly notifiedIds: readonly string[] };

export interface FinishedStep {
  /** Undefined once the change is finished, or if another process has gone on with it. */
  readonly change?: UnfinishedChange;
  /** Whose sign-ins may have ended. */
  readonly userIds: readonly string[];
}

/**
 * Goes on with the change of a call, if it is unfinished. What is left or fails here, the job does. Returns the users
 * whose sign-ins may have ended.
 */
export async function goOn(call: Call, id: string): Promise<ReadonlySet<string>> {
  const userIds = new Set<string>();
  if (call.isUncommitted) return userIds;
  const until = performance.now() + CALL_MS;
  try {
    let change = await findUnfinished(call, id);
    while (change) {
      if (performance.now() >= until || isWaiting(call, change)) break;
      const progress: FinishedStep = await takeStep(call, change);
      for (const userId of progress.userIds) userIds.add(userId);
      change = progress.change;
    }
  } catch {}
  return userIds;
}

export function isWaiting({ now }: Call, change: UnfinishedChange): boolean {
  return now.getTime() < startOf(change);
}

/** Returns when the step of the change begins at the earliest. */
function startOf({ kind, step, createdAt }: UnfinishedChange): number {
  return createdAt.getTime() + (STEPS[kind][step]?.waitMs ?? 0);
}

/** Does one batch of the change. */
export async function takeStep(call: Call, change: UnfinishedChange): Promise<FinishedStep> {
  const { kind, createdAt } = change;
  const step = STEPS[kind][change.step];
  if (!step) {
    await call.run(removeChange, { ...change, cutoffExpiresAt: new Date(createdAt.getTime() + CUTOFF_LIFETIME_MS) });
    return { userIds: [] };
  }
  const { userIds, next } = await step.read(call, change);
  const nextStep = next === undefined ? change.step + 1 : change.step;
  const nextAfter = next ?? START;
  const start = startOf({ ...change, step: nextStep });
  const dueAt = new Date(Math.max(start, leaseUntil(call.now).getTime()));
  const parameters = { ...change, applicationId: change.subjectId, userIds, nextStep, nextAfter, dueAt };
  const [done] = await runCutoff(call, step.end, parameters);
  if (!done) return { userIds: [] };
  announce(call.onMessage, done);
  return { change: { ...change, step: nextStep, after: nextAfter, dueAt }, userIds: done.userIds };
}

const ROW = { id: t.uuid, userId: nullable(t.uuid) };
const limit = p.integer('limit');

/** Reads a batch of rows after the last one. */
function readBy(select: Statement<{ id: string; userId: string | null }[]>): Step['read'] {
  return async ({ run, now }, { subjectId, losingIds, after }) => {
    const limit = Math.max(1, Math.floor(BATCH / Math.max(1, losingIds.length)));
    const rows = await run(select, { subjectId, after, now, limit });
    const userIds = [...new Set(rows.flatMap(({ userId }) => userId ?? []))];
    return { userIds, next: rows.length < limit ? undefined : rows.at(-1)?.id };
  };
}

const selectSessions = statement('select_sessions_to_check', ROW)`
  select user_id as id, user_id from sessions
  -- Equivalent: limit: a batch has one more
  where application_id = ${p.uuid('subjectId')} and user_id > ${p.uuid('after')} order by user_id limit ${limit}`;

/** The user of a grant that has ended before was told of. */
const selectGrants = statement('select_grants_to_check', ROW)`
  select id, case when expires_at > ${p.instant('now')} and ${isGrantAfterOwnCutoffs} then user_id end as user_id
  from oidc_grants
  -- Equivalent: limit: a batch has one more
  where application_id = ${p.uuid('subjectId')} and id > ${p.uuid('after')} order by id limit ${limit}`;

const selectMembers = statement('select_members_to_check', ROW)`
  select user_id as id, user_id from group_members
  -- Equivalent: limit: a batch has one more
  where group_id = ${p.uuid('subjectId')} and user_id > ${p.uuid('after')} order by user_id limit ${limit}`;

/** Ends the sign-ins of those users who may not enter the application. A distributed database sends it to one shard. */
const endRefused = statement('end_refused_users', DONE)`${endRefusedOf()}`.ifDistributed`${endRefusedOf(HERE)}`;

function endRefusedOf(where: Partial<typeof HERE> = {}) {
  return sql`
  with ${claimed}, ${cutOffRefusedOfOne(where, sql`, claimed`)}
  select array_to_json(array(select user_id from lost)) as user_ids, ${notified} from claimed`;
}

const updated = userMessage('user.updated', sql`changed`);
/** To the applications that see the group. */
const toSeeing = {
  ...updated,
  from: sql`${updated.from}
    where signed_in.application_id = any(array(select unnest(claimed.seeing_ids) from claimed))`,
  part: sql`changed.id`,
};

/** Ends the sign-ins of members who have lost an application with the group, and tells the applications that see it. */
const endMembers = statement('end_group_members', DONE)`
  with ${claimed}, affected as (
    select losing.application_id, member.user_id
    from claimed, unnest(claimed.losing_ids) as losing (application_id), unnest(${p.uuids('userIds')}) as member (user_id)
  ), changed as (
    select ${columnsOf(userColumns)} from users
    where deleted_at is null and id = any(${p.uuids('userIds')})
      -- Equivalent: conjunct: without a claim nobody is told, and this saves reading the users
      and exists (select 1 from claimed)
  ), removed as (
    delete from group_members m using claimed
    where claimed.is_removal and m.group_id = claimed.subject_id and m.user_id = any(${p.uuids('userIds')})
  ), closed as (
    -- Of a call that has not seen the removal.
    delete from application_groups g using claimed where claimed.is_removal and g.group_id = claimed.subject_id
  ), ${cutOffLost()}, ${messagesOf(...lossMessages, toSeeing)}
  select array_to_json(array(select distinct user_id from affected)) as user_ids, ${notified} from claimed`;

/** What statements have stored about a user who was ending, and what the call that ended the user has left. */
const cleanUser: Step['read'] = async (call, { subjectId: userId }) => {
  await endLateSessions(call, userId);
  await removeLateCredentials(call, userId);
  await removeIfErased(call, userId);
  return { userIds: [] };
};

const endInvitation: Step['read'] = async (call, { subjectId: userId, losingIds, isRemoval }) => {
  await cutOffRefused(
    call,
    losingIds.map((applicationId) => [applicationId, userId]),
  );
  if (isRemoval) await removeInvitedUser(call, userId);
  return { userIds: [] };
};

const advance = statement('advance_unfinished_change', DONE)`
  with ${claimed} select '[]'::json as user_ids, '[]'::json as notified_ids from claimed`;

const STEPS: Readonly<Record<UnfinishedChange['kind'], readonly Step[]>> = {
  application: [
    { read: readBy(selectSessions), end: endRefused },
    { read: readBy(selectGrants), end: endRefused },
    { waitMs: SECOND_LOOK_MS, read: readBy(selectSessions), end: endRefused },
    { read: readBy(selectGrants), end: endRefused },
  ],
  group: [{ read: readBy(selectMembers), end: endMembers }],
  invitation: [{ read: endInvitation, end: advance }],
  user: [
    { read: cleanUser, end: advance },
    { waitMs: SECOND_LOOK_MS, read: cleanUser, end: advance },
  ],
};

/** Removes a change that is finished, the cut-off that has stood for it, and a group that has gone. */
const removeChange = statement('remove_unfinished_change')`
  with done as (
    delete from unfinished_changes where ${isAt()} returning subject_id, losing_ids, is_removal
  ), ${removeCutoffOfRefused(sql`select unnest(done.losing_ids) from done`)}, gone as (
    delete from groups g using done where done.is_removal and g.id = done.subject_id
  )
  select from done`;
