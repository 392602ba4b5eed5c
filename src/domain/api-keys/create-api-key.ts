import { sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { apiKeys, applications } from '../../database/schema.ts';
import { isExistingApplication } from '../applications/application.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { type Rule, rule, Unacceptable } from '../rule.ts';
import { check, identifier, optional, type Unchecked, uuid } from '../validation.ts';
import { newApiKey, newApiKeyColumns } from './new-api-key.ts';

type Field = 'applicationId' | 'name' | 'expiresAt';

/** The latest that a Timestamp in JSON can be. */
const LAST_INSTANT = new Date('9999-12-31T23:59:59.999Z');

/** Creates another API key, to be shown once. @throws ServiceError `Application not found` */
export async function createApiKey(
  { run, now }: Call,
  request: Unchecked<Field>,
): Promise<{ apiKeyId: string; apiKey: string }> {
  const { expiresAt, ...fields } = check(request, {
    applicationId: uuid,
    name: optional(identifier),
    expiresAt: optional(instantAfter(now)),
  });
  const { apiKey, apiKeyId, digest } = newApiKey();
  const [created] = await run(insertApiKey, {
    ...fields,
    apiKeyId,
    digest,
    now,
    expiresAt: expiresAt?.toISOString() ?? null,
  });
  if (!created) throw new ServiceError('APPLICATION_NOT_FOUND');
  return { apiKeyId, apiKey };
}

function instantAfter(now: Date): Rule<Date> {
  return rule({ type: 'string', format: 'date-time' }, (value) => {
    if (!(value instanceof Date && value <= LAST_INSTANT)) throw new Unacceptable('must be a time');
    if (value <= now) throw new Unacceptable('must be in the future');
    return value;
  });
}

const insertApiKey: Statement<{ id: string }[]> = (db) => {
  const created = db.$with('created').as(
    db
      .insert(apiKeys)
      .select(
        db
          .select({
            applicationId: applications.id,
            ...newApiKeyColumns,
            name: sql`${sql.placeholder('name')}::text`.as('key_name'),
            expiresAt: sql`${sql.placeholder('expiresAt')}::timestamptz`.as('expires_at'),
          })
          .from(applications)
          .where(isExistingApplication),
      )
      .returning({ id: apiKeys.id }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`created` });
  return db.with(created, audit).select().from(created).prepare('insert_api_key');
};
