import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { columnsOf, p, statement } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { type Checked, check, orDefault, type Unchecked } from '../core/validation.ts';
import { insertLogoutEndpoint } from '../outbox/logout-endpoint.ts';
import { storeMessageFeed } from '../outbox/message-feed.ts';
import { defaultKeyName, newApiKey } from './api-key.ts';
import {
  type ApplicationDetails,
  chosenColumns,
  flagRules,
  type IsKnownMethod,
  optionalRules,
  requiredRules,
  requireKnownMethods,
} from './application.ts';
import { newClientId, throwResourceTaken } from './resource.ts';

/** The rules of a new application. Other fields have defaults. */
export const applicationRules = {
  ...requiredRules,
  allowSignUp: orDefault(flagRules.allowSignUp, false),
  allowInvitations: orDefault(flagRules.allowInvitations, false),
  askName: orDefault(flagRules.askName, false),
  singleSignOn: orDefault(flagRules.singleSignOn, false),
  restrictAccess: orDefault(flagRules.restrictAccess, false),
  messageFeed: orDefault(flagRules.messageFeed, false),
  openIdConnect: orDefault(flagRules.openIdConnect, false),
  requirePkce: orDefault(flagRules.requirePkce, true),
  publicClient: orDefault(flagRules.publicClient, false),
  deviceLogin: orDefault(flagRules.deviceLogin, false),
  allowMetadataClients: orDefault(flagRules.allowMetadataClients, false),
  ...optionalRules,
};

/**
 * Creates an application and its first API key. The key can be shown only now, because its digest alone is stored.
 *
 * @throws ServiceError `Validation failed` for an unknown login method, `Resource already exists`
 */
export async function createApplication(
  call: Call,
  request: Unchecked<keyof typeof applicationRules>,
  isKnownMethod?: IsKnownMethod,
): Promise<{ application: ApplicationDetails; apiKeyId: string; apiKey: string }> {
  const fields = check(request, applicationRules);
  requireKnownMethods(fields.loginMethods, isKnownMethod);
  const key = newApiKey();
  const application = await storeApplication(call, { id: randomUUID(), clientId: newClientId(), ...fields }, key);
  return { application, apiKeyId: key.apiKeyId, apiKey: key.apiKey };
}

/** Stores an application of checked fields, with a first key if there is one. @throws ServiceError `Resource already exists` */
export async function storeApplication(
  call: Call,
  fields: Pick<ApplicationDetails, 'id' | 'clientId'> & Checked<typeof applicationRules>,
  key?: Pick<ReturnType<typeof newApiKey>, 'apiKeyId' | 'digest'>,
): Promise<ApplicationDetails> {
  const application = {
    ...fields,
    logoDigest: null,
    darkLogoDigest: null,
    logoSize: null,
    darkLogoSize: null,
    declaredByFile: null,
    createdAt: call.now,
  };
  const { apiKeyId = null, digest = null } = key ?? {};
  const parameters = { ...application, apiKeyId, digest, now: call.now, feedEpoch: randomUUID() };
  await call.run(insertApplication, parameters).catch(throwResourceTaken);
  return application;
}

const chosen = Object.entries(chosenColumns).map(([name, column]) => p.of(column, name));

const insertApplication = statement('insert_application')`
  with created as (
    insert into applications (id, client_id, created_at, declared_by_file, ${columnsOf(chosenColumns)})
    values (${p.uuid('id')}, ${p.text('clientId')}, ${p.instant('now')},
      case when ${p.text('auditActorType')} = 'file' then true end, ${sql.join(chosen, sql`, `)})
    returning id, backchannel_logout_uri as url, message_feed
  ), endpoint as (${insertLogoutEndpoint(p.uuid('id'), sql`created`)}
  ), ${storeMessageFeed(p.uuid('id'), sql`created`)}, ${auditEvent({ resource: sql`id`, from: sql`created`, applicationId: sql`id` })}
  insert into api_keys (application_id, id, digest, created_at, name)
  select id, ${p.uuid('apiKeyId')}, ${p.bytes('digest')}, ${p.instant('now')}, ${defaultKeyName(p.text('name'))} from created
  where ${p.bytes('digest')} is not null`;
