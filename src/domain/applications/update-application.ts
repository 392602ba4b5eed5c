import { sql } from 'drizzle-orm';
import { columnsOf, p, statement } from '../../database/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { changedValues, changeParameters } from '../changes.ts';
import { ServiceError } from '../errors.ts';
import { change, check, type Unchecked, uuid } from '../validation.ts';
import { storeLogoutEndpoint } from '../webhooks/logout-endpoint.ts';
import {
  type ApplicationDetails,
  applicationColumns,
  chosenColumns,
  flagRules,
  optionalRules,
  requiredRules,
} from './application.ts';
import { type IsKnownMethod, requireKnownMethods } from './known-methods.ts';

const rules = {
  applicationId: uuid,
  name: change(requiredRules.name),
  redirectUris: change(requiredRules.redirectUris),
  allowSignUp: change(flagRules.allowSignUp),
  askName: change(flagRules.askName),
  singleSignOn: change(flagRules.singleSignOn),
  sessionMaxAgeSeconds: change(optionalRules.sessionMaxAgeSeconds),
  sessionIdleSeconds: change(optionalRules.sessionIdleSeconds),
  accentColor: change(optionalRules.accentColor),
  termsUri: change(optionalRules.termsUri),
  privacyUri: change(optionalRules.privacyUri),
  supportUri: change(optionalRules.supportUri),
  initiateLoginUri: change(optionalRules.initiateLoginUri),
  loginMethods: change(optionalRules.loginMethods),
  openIdConnect: change(flagRules.openIdConnect),
  requirePkce: change(flagRules.requirePkce),
  publicClient: change(flagRules.publicClient),
  postLogoutRedirectUris: change(optionalRules.postLogoutRedirectUris),
  backchannelLogoutUri: change(optionalRules.backchannelLogoutUri),
};

/**
 * Changes an application and returns it.
 *
 * @throws ServiceError `Application not found`, and `Validation failed` for a login method that is not known
 */
export async function updateApplication(
  call: Call,
  request: Unchecked<keyof typeof rules>,
  isKnownMethod?: IsKnownMethod,
): Promise<ApplicationDetails> {
  const { applicationId, ...changes } = check(request, rules);
  if (changes.loginMethods) requireKnownMethods(changes.loginMethods, isKnownMethod);
  const [updated] = await call.run(updateChanged, { applicationId, ...changeParameters(changes) });
  if (!updated) throw new ServiceError('APPLICATION_NOT_FOUND');
  if (changes.backchannelLogoutUri !== undefined) await storeLogoutEndpoint(call, applicationId);
  return updated;
}

const updateChanged = statement('update_application', applicationColumns)`
  with wanted as (
    select id, client_id, created_at, logo_digest, dark_logo_digest, logo_size, dark_logo_size,
      ${changedValues(chosenColumns)} from applications
    where id = ${p.uuid('applicationId')} and deleted_at is null for no key update
  ), changed as (
    update applications a set (${columnsOf(chosenColumns)}) = row(${columnsOf(chosenColumns, 'w')}) from wanted w
    where a.id = w.id and row(${columnsOf(chosenColumns, 'a')}) is distinct from row(${columnsOf(chosenColumns, 'w')})
    returning a.id
  ), ${auditEvent({ resource: sql`id`, from: sql`changed` })}
  select ${columnsOf(applicationColumns)} from wanted`;
