import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { placeholders, type Statement } from '../../database/database.ts';
import { apiKeys, applications } from '../../database/schema.ts';
import { apiKeyColumns, newApiKey } from '../api-keys/new-api-key.ts';
import type { Application, Call } from '../call.ts';
import { check, identifier, listOf, textThat, type Unchecked } from '../validation.ts';
import { isRegistrable } from './redirect-uri.ts';

const redirectUri = textThat(
  isRegistrable,
  'must be absolute https, http on a loopback host, or a private scheme with a dot, without fragment, user information or wildcard',
  { max: 2048 },
);
const rules = { name: identifier, redirectUris: listOf(redirectUri, { min: 1, max: 50 }) };

/** Creates an application and its first API key, to be shown once. */
export async function createApplication(
  { run, now }: Call,
  request: Unchecked<keyof typeof rules>,
): Promise<{ application: Application; apiKeyId: string; apiKey: string }> {
  const { name, redirectUris } = check(request, rules);
  const application = { id: randomUUID(), name, clientId: `client_${randomBytes(16).toString('hex')}`, redirectUris };
  const { apiKey, apiKeyId, digest } = newApiKey();
  await run(insertApplication, { ...application, apiKeyId, digest, now });
  return { application, apiKeyId, apiKey };
}

const insertApplication: Statement<unknown> = (db) => {
  const created = db.$with('created').as(
    db
      .insert(applications)
      .values({ ...placeholders('id', 'name', 'clientId', 'redirectUris'), createdAt: sql.placeholder('now') })
      .returning({ id: applications.id }),
  );
  return db
    .with(created)
    .insert(apiKeys)
    .select(
      db
        .select({
          applicationId: created.id,
          ...apiKeyColumns,
        })
        .from(created),
    )
    .prepare('insert_application');
};
