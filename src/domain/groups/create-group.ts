import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, type Unchecked } from '../core/validation.ts';
import { type Group, groupRules, MAX_GROUPS } from './group.ts';

/** Creates a group without members. @throws ServiceError `Group already exists`, `Too many groups` */
export async function createGroup({ run, now }: Call, request: Unchecked<keyof typeof groupRules>): Promise<Group> {
  const group = { groupId: randomUUID(), ...check(request, groupRules), declaredByFile: null, createdAt: now };
  const [found] = await run(insertGroup, { ...group, most: MAX_GROUPS, now });
  if (found?.isCreated) return group;
  throw new ServiceError(found?.isFull ? 'TOO_MANY_GROUPS' : 'GROUP_ALREADY_EXISTS');
}

const insertGroup = statement('insert_group', { isFull: t.boolean, isCreated: t.boolean })`
  with present as (
    select count(*) >= ${p.integer('most')} as is_full from groups where deleted_at is null
  ), created as (
    insert into groups (id, name, display_name, created_at, declared_by_file)
    select ${p.uuid('groupId')}, ${p.text('name')}, ${p.text('displayName')}, ${p.instant('now')},
      case when ${p.text('auditActorType')} = 'file' then true end
    from present where not is_full on conflict do nothing returning id
  ), ${auditEvent({ resource: sql`id`, from: sql`created`, applicationId: noApplication })}
  select is_full, exists (select 1 from created) as is_created from present`;
