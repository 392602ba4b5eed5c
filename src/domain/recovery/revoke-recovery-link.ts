import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';
import { isOpenLink } from './recovery-link.ts';

const rules = { recoveryLinkId: uuid };

/** Ends an open recovery link. One that has ended stays as it is. @throws ServiceError `Recovery link not found` */
export async function revokeRecoveryLink(call: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const { recoveryLinkId } = check(request, rules);
  const [known] = await call.run(revokeLink, { recoveryLinkId, now: call.now });
  if (!known) throw new ServiceError('RECOVERY_LINK_NOT_FOUND');
}

const revokeLink = statement('revoke_recovery_link')`
  with known as (
    select id from recovery_links where id = ${p.uuid('recoveryLinkId')}
  ), revoked as (
    update recovery_links l set status = 'REVOKED', ended_at = ${p.instant('now')}
    where l.id = ${p.uuid('recoveryLinkId')} and ${isOpenLink}
    returning l.user_id
  ), ${auditEvent({ resource: sql`user_id`, from: sql`revoked`, applicationId: noApplication })}
  select from known`;
