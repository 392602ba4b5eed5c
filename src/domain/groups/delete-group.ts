import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked, uuid } from '../core/validation.ts';

const rules = { groupId: uuid };

/** Deletes a group with its memberships. @throws ServiceError `Group not found` */
export async function deleteGroup({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const [deleted] = await run(removeGroup, check(request, rules));
  if (!deleted) throw new ServiceError('GROUP_NOT_FOUND');
}

const removeGroup = statement('delete_group')`
  with deleted as (
    delete from groups where id = ${p.uuid('groupId')} returning id
  ), ${auditEvent({ resource: sql`id`, from: sql`deleted`, applicationId: noApplication })}
  select from deleted`;
