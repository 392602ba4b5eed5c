/** Waits for the background work of a server, and does what its jobs would do about once a minute. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresClient } from '../database/sql/driver.ts';
import { BY_USHER, withAudit } from '../domain/audit/audit-event.ts';
import { expireInvitations } from '../domain/invitations/expire-invitations.ts';
import { removeExpired } from '../jobs/expiry.ts';
import { finishChanges } from '../jobs/unfinished-changes.ts';
import type { FullConfig } from '../modules/modules.ts';
import type { UsherServer } from '../server.ts';

/** How long `settle` waits, of real time. */
const SETTLE_MS = 10_000;
const POLL_MS = 5;
const JOB_MS = 10_000;
/** The lease of a notice while it is being sent. */
const NOTICE_LEASE = '1 minute';

export interface BackgroundParts {
  readonly config: FullConfig;
  readonly core: UsherServer['core'];
  readonly clock: () => Date;
  /** A client of the database of the server. */
  readonly sql: PostgresClient;
}

/** @throws Error with what is left after 10 s of real time */
export async function settle(parts: BackgroundParts): Promise<void> {
  const until = performance.now() + SETTLE_MS;
  await runJobsOnce(parts);
  for (;;) {
    const left = await findLeft(parts);
    if (Object.keys(left).length === 0) return;
    if (performance.now() > until) {
      const list = Object.entries(left).map(([name, count]) => `${count} ${name}`);
      throw new Error(`Usher has not settled within ${SETTLE_MS / 1_000} s: there are ${list.join(', ')}`);
    }
    await sleep(POLL_MS);
  }
}

/** Runs the jobs that are due, apart from deliveries and notices, which run anyway. */
async function runJobsOnce({ clock, core }: BackgroundParts): Promise<void> {
  const { database, onMessage } = core;
  const now = clock();
  const run = withAudit(database.eachWithin(JOB_MS), { ...BY_USHER, action: 'ExpireInvitation', now });
  while (await expireInvitations({ run, now, onMessage }));
  await finishChanges(database, { clock, onMessage });
}

/** Returns what is due or under way, by its name. */
async function findLeft({ config, clock, core, sql }: BackgroundParts): Promise<Readonly<Record<string, number>>> {
  const now = clock();
  const rows = await sql<{ what: string; applicationId: string; count: number }[]>`
    select 'messages without deliveries' as what, application_id as "applicationId", count(*)::int as count
    from webhook_messages where fanned_out_to is not null group by 2
    union all select 'webhooks with due messages', application_id, count(*)::int
    from webhook_queues where next_at <= ${now} or lease is not null group by 2
    union all select 'e-mails', application_id, count(*)::int
    from notices where due_at <= ${now}::timestamptz + ${NOTICE_LEASE}::interval group by 2
    union all select 'unfinished changes', null, count(*)::int
    from unfinished_changes where due_at <= ${now} having count(*) > 0`;
  const left = rows.filter(({ what }) =>
    what === 'e-mails' ? core.notices : config.webhookDelivery || what[0] === 'u',
  );
  // Without this, the next look of the worker is up to half a second away.
  for (const { what, applicationId } of left) if (what.startsWith('webhooks')) core.onMessage(applicationId);
  if (left.some(({ what }) => what === 'e-mails')) core.notices?.wake();
  return Object.fromEntries(
    [...Map.groupBy(left, ({ what }) => what)].map(([what, found]) => [
      what,
      found.reduce((sum, { count }) => sum + count, 0),
    ]),
  );
}

/** Returns when the next retry, notice or rest of a change is due, after now. */
export async function findNextDue({ clock, sql }: BackgroundParts): Promise<Date | undefined> {
  const [row] = await sql<{ at: Date | null }[]>`
    select min(at) as at from (
      select min(next_at) as at from webhook_queues where lease is null
      union all select min(due_at) from notices
      union all select min(due_at) from unfinished_changes
    ) as due where at > ${clock()}`;
  return row?.at ?? undefined;
}

/** Runs the expiry job once, by the clock of the server. */
export async function expireNow({ config, core, clock }: BackgroundParts): Promise<void> {
  const { auditLogDays, signInLogDays, webhookLogDays } = config;
  await removeExpired(core.database, { now: clock(), auditLogDays, signInLogDays, webhookLogDays });
}
