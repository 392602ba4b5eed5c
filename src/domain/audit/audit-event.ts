/** The audit log: who changed what, when, and from where. Each row is inserted by the statement that makes the change. */
import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { auditEvents, NO_APPLICATION } from '../../database/audit-schema.ts';
import type { Db, Run } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';

type ActorType = 'admin_key' | 'api_key' | 'login_page' | 'usher';

/** Who makes a call, and from where. */
export interface AuditContext {
  readonly actorType: ActorType;
  /** The name of the admin key, or the ID of the API key. */
  readonly actor: string;
  /** The RPC, such as `EventService/CreateEvent`. */
  readonly action: string;
  readonly ipAddress: string;
  readonly requestId: string;
  readonly now: Date;
}

/** The context of changes that Usher makes by itself. */
export const BY_USHER = { actorType: 'usher', actor: '', ipAddress: '', requestId: '' } as const;

/** Returns `run` with the values that the statements of `insertAuditEvent` take. */
export function withAudit(run: Run, { actorType, actor, action, ipAddress, requestId, now }: AuditContext): Run {
  const parameters = {
    auditActorType: actorType,
    auditActor: actor,
    auditAction: action,
    auditIpAddress: ipAddress,
    auditRequestId: requestId,
    auditOccurredAt: now,
  };
  return (statement, own) => run(statement, { ...parameters, auditId: randomUUID(), ...own });
}

export interface Change {
  /** The ID of what has changed. */
  readonly resource: SQL;
  /** What follows `from`: one row if something has changed, else none. */
  readonly from: SQL;
  /** The placeholder `applicationId` where it is not given. */
  readonly applicationId?: SQL;
}

/** Returns the CTE `audit`. A statement that changes something has it in its `with`. */
export function insertAuditEvent(db: Db, { resource, from, applicationId = callersId }: Change) {
  const text = (name: string) => sql`${sql.placeholder(name)}::text`;
  return db.$with('audit', {}).as(sql`
    insert into ${auditEvents}
      (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id)
    select ${applicationId}, ${instantPlaceholder('auditOccurredAt')}::timestamptz, ${sql.placeholder('auditId')}::uuid,
      ${text('auditActorType')}, ${text('auditActor')}, ${text('auditAction')}, (${resource})::text,
      ${text('auditIpAddress')}, ${text('auditRequestId')}
    from ${from}`);
}

/** For changes that concern no single application. */
export const noApplication = sql`${sql.raw(`'${NO_APPLICATION}'`)}::uuid`;

const callersId = sql`${sql.placeholder('applicationId')}::uuid`;
