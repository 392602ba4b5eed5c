/** What only the file changes: which rows it names, and the name, use and expiry of a key. */
import { sql } from 'drizzle-orm';
import { p, statement } from '../../../database/sql/template.ts';
import { auditEvent, noApplication } from '../../../domain/audit/audit-event.ts';

export const markApplication = statement('mark_application_declared')`
  with changed as (
    update applications set declared_by_file = ${p.boolean('declared')}
    where id = ${p.uuid('applicationId')} and deleted_at is null returning id
  ), ${auditEvent({ resource: sql`id`, from: sql`changed` })}
  select from changed`;

export const markGroup = statement('mark_group_declared')`
  with changed as (
    update groups set declared_by_file = ${p.boolean('declared')}
    where id = ${p.uuid('groupId')} and deleted_at is null returning id
  ), ${auditEvent({ resource: sql`id`, from: sql`changed`, applicationId: noApplication })}
  select from changed`;

/** The keys of a released application are like keys of the console: no file revokes them. */
export const releaseKeys = statement('release_declared_keys')`
  update api_keys set declared_by_file = false
  where application_id = ${p.uuid('applicationId')} and declared_by_file`;

export const updateKey = statement('update_declared_key')`
  with changed as (
    update api_keys set name = ${p.text('name')}, use = ${p.text('use')}, expires_at = ${p.instant('expiresAt')},
      declared_by_file = true
    where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('apiKeyId')} and revoked_at is null
    returning id
  ), ${auditEvent({ resource: sql`id`, from: sql`changed` })}
  select from changed`;
