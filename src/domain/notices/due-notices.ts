/** Stored notices on their way to the mail server. Any process may send one; a lease keeps the others away meanwhile. */
import type { Run } from '../../database/pool/database.ts';
import { notices } from '../../database/schema/notice-schema.ts';
import { applications } from '../../database/schema/schema.ts';
import { nullable, p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import type { NoticeKind } from './store-notice.ts';

/** Longer than an attempt takes. After a crash, another process sends the notice once this time is over. */
const LEASE_MS = 60_000;
/** The delay after the first attempt. It doubles with each further one, up to the longest. */
const [FIRST_DELAY_MS, LONGEST_DELAY_MS] = [5_000, 30 * 60_000];

const { userId, recipient, value, language, changedAt, attempts, expiresAt } = notices;

const DUE = {
  applicationId: notices.applicationId,
  id: notices.id,
  kind: t.textOf<NoticeKind>(),
  ...{ userId, recipient, value, language, changedAt, attempts, expiresAt },
  applicationName: nullable(t.text),
  accentColor: applications.accentColor,
  supportUri: applications.supportUri,
  initiateLoginUri: applications.initiateLoginUri,
};

export type DueNotice = RowOfType<typeof DUE>;

/** Returns notices whose attempt is due, the longest due first. */
export function findDueNotices(run: Run, now: Date, limit: number): Promise<DueNotice[]> {
  return run(selectDue, { now, limit });
}

/** Returns whether this process may send the notice: another one may have been faster. */
export async function claimNotice(run: Run, { applicationId, id, kind, attempts }: DueNotice, now: Date) {
  const leaseEnd = new Date(now.getTime() + LEASE_MS);
  const [claimed] = await run(claimDue, { applicationId, id, kind, attempts, now, leaseEnd });
  return claimed !== undefined;
}

/** Removes a notice that the mail server has taken, or that cannot be sent. */
export async function removeNotice(run: Run, { applicationId, id, kind }: DueNotice): Promise<void> {
  await run(deleteNotice, { applicationId, id, kind });
}

/** Makes the next attempt of a claimed notice due later. */
export async function postponeNotice(run: Run, { applicationId, id, kind, attempts }: DueNotice, now: Date) {
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** attempts, LONGEST_DELAY_MS);
  const dueAt = new Date(now.getTime() + delayMs);
  await run(updateDue, { applicationId, id, kind, attempts: attempts + 1, dueAt });
}

const selectDue = statement('select_due_notices', DUE)`
  select n.application_id, n.id, n.kind, n.user_id, n.recipient, n.value, n.language, n.changed_at, n.attempts,
    n.expires_at, a.name as application_name, a.accent_color, a.support_uri, a.initiate_login_uri
  from notices n left join applications a on a.id = n.application_id
  where n.due_at <= ${p.instant('now')}
  order by n.due_at limit ${p.integer('limit')}`;

/** If several processes claim a notice, the row lock lets only the first find it due. */
const claimDue = statement('claim_notice')`
  update notices set due_at = ${p.instant('leaseEnd')}, attempts = attempts + 1
  where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('id')} and kind = ${p.text('kind')}
    and attempts = ${p.integer('attempts')} and due_at <= ${p.instant('now')}
  returning id`;

/** Changes nothing if the lease has expired and another process has claimed the notice. */
const updateDue = statement('postpone_notice')`
  update notices set due_at = ${p.instant('dueAt')}
  where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('id')} and kind = ${p.text('kind')}
    and attempts = ${p.integer('attempts')}`;

const deleteNotice = statement('delete_notice')`
  delete from notices
  where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('id')} and kind = ${p.text('kind')}`;

/** How long the links in notices work. */
export const LINK_DAYS = 7;

type LinkedNotice = Pick<DueNotice, 'id' | 'userId' | 'recipient' | 'value' | 'changedAt'>;

/** Functions that return the link with which a user undoes a change, below the account page, by the kind of notice. */
export type NoticeLinks = Partial<Record<NoticeKind, (notice: LinkedNotice) => `/${string}`>>;
