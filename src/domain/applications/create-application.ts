import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { newApiKey } from '../api-keys/new-api-key.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { DEFAULT_IDLE_SECONDS } from '../sessions/session.ts';
import { check, type Unchecked } from '../validation.ts';
import { type ApplicationDetails, applicationRules } from './application.ts';

const rules = applicationRules;

/** Creates an application and its first API key, to be shown once. */
export async function createApplication(
  { run, now }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<{ application: ApplicationDetails; apiKeyId: string; apiKey: string }> {
  const { name, redirectUris } = check(request, rules);
  const application = {
    id: randomUUID(),
    name,
    clientId: `client_${randomBytes(16).toString('hex')}`,
    redirectUris,
    allowSignUp: false,
    askName: false,
    sessionMaxAgeSeconds: null,
    sessionIdleSeconds: DEFAULT_IDLE_SECONDS,
    createdAt: now,
  };
  const { apiKey, apiKeyId, digest } = newApiKey();
  await run(insertApplication, { ...application, apiKeyId, digest, now });
  return { application, apiKeyId, apiKey };
}

const insertApplication = statement('insert_application')`
  with created as (
    insert into applications (id, name, client_id, redirect_uris, created_at)
    values (${p.uuid('id')}, ${p.text('name')}, ${p.text('clientId')}, ${p.texts('redirectUris')}, ${p.instant('now')})
    returning id
  ), ${auditEvent({ resource: sql`id`, from: sql`created`, applicationId: sql`id` })}
  insert into api_keys (application_id, id, digest, created_at)
  select id, ${p.uuid('apiKeyId')}, ${p.bytes('digest')}, ${p.instant('now')} from created`;
