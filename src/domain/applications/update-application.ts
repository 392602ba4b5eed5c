import { sql } from 'drizzle-orm';
import { applications } from '../../database/schema.ts';
import { columnsOf, p, statement } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { changedValues, changeParameters } from '../changes.ts';
import { ServiceError } from '../errors.ts';
import { rule } from '../rule.ts';
import { DEFAULT_IDLE_SECONDS } from '../sessions/session.ts';
import { boolean, change, check, integer, optional, type Unchecked, uuid } from '../validation.ts';
import { type ApplicationDetails, applicationColumns, applicationRules } from './application.ts';

const idleSeconds = integer({ min: DEFAULT_IDLE_SECONDS, max: 90 * 24 * 60 * 60 });
/** Null stands for the default. */
const sessionIdle = rule(idleSeconds.schema, (value) => (value === null ? DEFAULT_IDLE_SECONDS : idleSeconds(value)), {
  isNullable: true,
});
const changeRules = {
  name: change(applicationRules.name),
  redirectUris: change(applicationRules.redirectUris),
  allowSignUp: change(boolean),
  askName: change(boolean),
  sessionMaxAgeSeconds: change(optional(integer({ min: 900, max: 31_536_000 }))),
  sessionIdleSeconds: change(sessionIdle),
};
const rules = { applicationId: uuid, ...changeRules };

/** Changes an application and returns it. @throws ServiceError `Application not found` */
export async function updateApplication(
  { run }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<ApplicationDetails> {
  const { applicationId, ...changes } = check(request, rules);
  const [updated] = await run(updateChanged, { applicationId, ...changeParameters(changes) });
  if (!updated) throw new ServiceError('APPLICATION_NOT_FOUND');
  return updated;
}

const { name, redirectUris, allowSignUp, askName, sessionMaxAgeSeconds, sessionIdleSeconds } = applications;
const CHANGEABLE = { name, redirectUris, allowSignUp, askName, sessionMaxAgeSeconds, sessionIdleSeconds };

const updateChanged = statement('update_application', applicationColumns)`
  with wanted as (
    select id, client_id, created_at, ${changedValues(CHANGEABLE)} from applications
    where id = ${p.uuid('applicationId')} and deleted_at is null for no key update
  ), changed as (
    update applications a set (${columnsOf(CHANGEABLE)}) = row(${columnsOf(CHANGEABLE, 'w')}) from wanted w
    where a.id = w.id and row(${columnsOf(CHANGEABLE, 'a')}) is distinct from row(${columnsOf(CHANGEABLE, 'w')})
    returning a.id
  ), ${auditEvent({ resource: sql`id`, from: sql`changed` })}
  select ${columnsOf(applicationColumns)} from wanted`;
