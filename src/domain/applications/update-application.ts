import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import {
  changedValues,
  changeParameters,
  changes,
  createVersionReader,
  hasExpectedVersion,
  isChanged,
  requireExpected,
  versionParameter,
} from '../core/changes.ts';
import { ServiceError } from '../core/errors.ts';
import { isManagedByFile, requireUnmanaged } from '../core/managed-by-file.ts';
import { leaveUnfinished } from '../core/unfinished-changes.ts';
import { type Checked, check, type Unchecked, uuid } from '../core/validation.ts';
import { goOn } from '../lifecycle/finish-change.ts';
import { storeLogoutEndpoint } from '../outbox/logout-endpoint.ts';
import { storeMessageFeed } from '../outbox/message-feed.ts';
import { askAgain, cutOffEveryRefused, runCutoff } from '../sessions/cutoffs.ts';
import {
  type ApplicationDetails,
  applicationColumns,
  chosenColumns,
  flagRules,
  type IsKnownMethod,
  optionalRules,
  requiredRules,
  requireKnownMethods,
} from './application.ts';
import { throwResourceTaken } from './resource.ts';

const rules = { applicationId: uuid, ...changes({ ...requiredRules, ...flagRules, ...optionalRules }) };

/**
 * Changes an application and returns it. If it becomes restricted, the sign-ins of users who may not enter it end. If it
 * becomes another resource, the tokens of other clients for it do.
 *
 * @throws ServiceError `Application not found`, `Managed by file`, `Changed meanwhile`, `Resource already exists`, and `Validation failed` for an unknown login
 * method
 */
export async function updateApplication(
  call: Call,
  request: Unchecked<keyof typeof rules>,
  isKnownMethod?: IsKnownMethod,
): Promise<ApplicationDetails> {
  const { applicationId, ...given } = check(request, rules);
  if (given.loginMethods) requireKnownMethods(given.loginMethods, isKnownMethod);
  return changeApplication(call, applicationId, given);
}

/** As `updateApplication`, with checked fields. */
export async function changeApplication(
  call: Call,
  applicationId: string,
  given: Partial<Omit<Checked<typeof rules>, 'applicationId'>>,
): Promise<ApplicationDetails> {
  const changeId = randomUUID();
  const parameters = { applicationId, changeId, feedEpoch: randomUUID(), ...versionParameter(call) };
  const changes = changeParameters({ ...noChanges, ...given });
  const [updated] = await runCutoff(call, updateChanged, { ...parameters, ...changes }).catch(throwResourceTaken);
  if (!updated) throw new ServiceError('APPLICATION_NOT_FOUND');
  requireUnmanaged(updated);
  requireExpected(updated);
  if (given.backchannelLogoutUri) call.onMessage?.(applicationId);
  if (given.restrictAccess) await goOn(call, changeId);
  return updated.application;
}

/** By these, tokens may end without a row that says so. */
const { openIdConnect, allowMetadataClients, machineClientIds, requiredAssurance, resourceUri, resourceScopes } =
  chosenColumns;
const ruling = {
  openIdConnect,
  allowMetadataClients,
  machineClientIds,
  requiredAssurance,
  resourceUri,
  resourceScopes,
};

const noChanges = Object.fromEntries(Object.keys(chosenColumns).map((name) => [name, undefined]));

const updateChanged = statement('update_application', {
  application: applicationColumns,
  isManaged: t.boolean,
  isExpected: t.boolean,
})`
  with wanted as (
    select id, client_id, created_at, logo_digest, dark_logo_digest, logo_size, dark_logo_size, declared_by_file,
      ${changedValues(chosenColumns)}, ${isManagedByFile()} as is_managed,
      ${hasExpectedVersion(chosenColumns)} and not ${isManagedByFile()} as is_expected from applications
    where id = ${p.uuid('applicationId')} and deleted_at is null for no key update
  ), changed as (
    update applications a set (${columnsOf(chosenColumns)}) = row(${columnsOf(chosenColumns, 'w')}),
      resource_uri_changed_at = case when rtrim(a.resource_uri, '/') is distinct from rtrim(w.resource_uri, '/')
        then ${p.instant('now')} else a.resource_uri_changed_at end
    from wanted w
    where a.id = w.id and w.is_expected and row(${columnsOf(chosenColumns, 'a')}) is distinct from row(${columnsOf(chosenColumns, 'w')})
    returning a.id
  ), given as (
    select backchannel_logout_uri as url from wanted where is_expected and ${isChanged('backchannelLogoutUri')}
  ), fed as (
    select message_feed from wanted where is_expected and ${isChanged('messageFeed')}
  ), ${storeLogoutEndpoint(sql`given`)}, ${storeMessageFeed(p.uuid('applicationId'), sql`fed`)},
  ${auditEvent({ resource: sql`id`, from: sql`changed` })}, closed as (
    select id as application_id from wanted where is_expected and restrict_access and ${isChanged('restrictAccess')}
  ), ${cutOffEveryRefused(sql`closed`)}, ${leaveUnfinished('application', {
    from: sql`closed`,
    subjectId: sql`application_id`,
    losing: sql`array[application_id]`,
  })}, ${askAgain(sql`
    select w.id from wanted w join applications a on a.id = w.id
    where w.is_expected and row(${columnsOf(ruling, 'a')}) is distinct from row(${columnsOf(ruling, 'w')})
    union select r.id from wanted w join applications a on a.id = w.id
      join applications r on w.client_id = any(r.machine_client_ids)
    where w.is_expected and (a.open_id_connect, a.restrict_access) is distinct from (w.open_id_connect, w.restrict_access)`)}
  select ${columnsOf(applicationColumns)}, is_managed, is_expected from wanted`;

const readVersion = createVersionReader(
  'select_application_version',
  chosenColumns,
  sql`applications where id = ${p.uuid('applicationId')} and deleted_at is null`,
);

/** Returns the version for `ifVersion` of a later `updateApplication`, or undefined if there is no such application. */
export function readApplicationVersion(call: Call, request: Unchecked<'applicationId'>): Promise<string | undefined> {
  return readVersion(call, check(request, { applicationId: uuid }));
}
