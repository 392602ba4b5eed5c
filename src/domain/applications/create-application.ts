import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { apiKeys, applications } from '../../database/schema.ts';
import { newApiKey, newApiKeyColumns } from '../api-keys/new-api-key.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
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
    createdAt: now,
  };
  const { apiKey, apiKeyId, digest } = newApiKey();
  await run(insertApplication, { ...application, apiKeyId, digest, now });
  return { application, apiKeyId, apiKey };
}

const insertApplication: Statement<unknown> = (db) => {
  const created = db.$with('created').as(
    db
      .insert(applications)
      .values({ ...placeholders('id', 'name', 'clientId', 'redirectUris', 'createdAt') })
      .returning({ id: applications.id }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`created`, applicationId: sql`id` });
  return db
    .with(created, audit)
    .insert(apiKeys)
    .select(
      db
        .select({
          applicationId: created.id,
          ...newApiKeyColumns,
        })
        .from(created),
    )
    .prepare('insert_application');
};
