/** The audit log: who changed what, when, and from where. Each row is inserted by the statement that makes the change. */
import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import type { Run } from '../../database/pool/database.ts';
import { NO_APPLICATION } from '../../database/schema/audit-schema.ts';
import { p } from '../../database/sql/template.ts';

type ActorType = 'admin_key' | 'api_key' | 'console' | 'file' | 'login_page' | 'usher';

/** Who makes a call, and from where. */
export interface AuditContext {
  readonly actorType: ActorType;
  /** The name of the admin key, the ID of the API key, the user ID of the operator, or the digest of the file. */
  readonly actor: string;
  /** The RPC, such as `EventService/CreateEvent`. */
  readonly action: string;
  readonly ipAddress: string;
  readonly requestId: string;
  readonly now: Date;
}

/** The context of changes that Usher makes by itself. */
export const BY_USHER = { actorType: 'usher', actor: '', ipAddress: '', requestId: '' } as const;

/** Returns a `run` that adds the parameters of `auditEvent`, such as `now`, to each execution. */
export function withAudit(run: Run, { actorType, actor, action, ipAddress, requestId, now }: AuditContext): Run {
  return (statement, own) =>
    run(statement, {
      auditActorType: actorType,
      auditActor: actor,
      auditAction: action,
      auditIpAddress: ipAddress,
      auditRequestId: requestId,
      auditId: randomUUID(),
      now,
      ...own,
    });
}

/** Who makes the call, and by which RPC or form. */
export type Actor = Pick<AuditContext, 'actorType' | 'actor' | 'action'>;

export interface Change {
  /** The column with the ID of the changed resource. */
  readonly resource: SQL;
  /** The SQL after `from`. It has one row if something has changed, else none; with an `id`, one for each change. */
  readonly from: SQL;
  /** Defaults to the parameter `applicationId`. */
  readonly applicationId?: SQL;
  /** Defaults to the parameter `auditId`. A statement with several rows gives each its own. */
  readonly id?: SQL;
  /** Who has signed in on behalf of the user. */
  readonly onBehalfBy?: SQL | undefined;
  /** Why an operator has done it. */
  readonly note?: SQL;
}

/** Returns the CTE `audit`. Add it to every statement that changes data. */
export function auditEvent(change: Change): SQL {
  const { resource, from, applicationId = p.uuid('applicationId'), id = p.uuid('auditId'), onBehalfBy, note } = change;
  return sql`audit as (
    insert into audit_events
      (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id
        ${onBehalfBy ? sql`, on_behalf_by` : sql``}${note ? sql`, note` : sql``})
    select ${applicationId}, ${p.instant('now')}, ${id}, ${p.text('auditActorType')},
      ${p.text('auditActor')}, ${p.text('auditAction')}, ${resource}::text, ${p.text('auditIpAddress')},
      ${p.text('auditRequestId')}${onBehalfBy ? sql`, ${onBehalfBy}` : sql``}${note ? sql`, ${note}` : sql``}
    from ${from})`;
}

/** The `applicationId` of changes that concern no single application. */
export const noApplication = sql`${sql.raw(`'${NO_APPLICATION}'`)}::uuid`;
