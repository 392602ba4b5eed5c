import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/sql/template.ts';
import { defaultKeyName, newApiKey } from '../applications/api-key.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { type Rule, rule, Unacceptable } from '../core/rule.ts';
import {
  check,
  identifier,
  oneOf,
  optional,
  textOrEmpty,
  timestamp,
  type Unchecked,
  uuid,
} from '../core/validation.ts';
import { KEY_USES } from './api-keys.ts';

type Field = 'applicationId' | 'name' | 'expiresAt' | 'use';

/**
 * Creates an API key. It can be shown only now, because its digest alone is stored.
 *
 * @throws ServiceError `Application not found`
 */
export async function createApiKey(
  { run, now }: Call,
  request: Unchecked<Field>,
): Promise<{ apiKeyId: string; apiKey: string }> {
  const fields = check(request, {
    applicationId: uuid,
    name: optional(identifier),
    expiresAt: optional(instantAfter(now)),
    use: textOrEmpty(oneOf(KEY_USES)),
  });
  const { apiKey, apiKeyId, digest } = newApiKey();
  await storeApiKey({ run, now }, { ...fields, use: fields.use || 'API', apiKeyId, digest });
  return { apiKeyId, apiKey };
}

/** Stores a key of checked fields. @throws ServiceError `Application not found` */
export async function storeApiKey(
  { run, now }: Pick<Call, 'run' | 'now'>,
  fields: {
    readonly applicationId: string;
    readonly apiKeyId: string;
    readonly digest: Buffer;
    readonly name: string | null;
    readonly expiresAt: Date | null;
    readonly use: string;
  },
): Promise<void> {
  const [created] = await run(insertApiKey, { ...fields, now });
  if (!created) throw new ServiceError('APPLICATION_NOT_FOUND');
}

function instantAfter(now: Date): Rule<Date> {
  return rule(timestamp.schema, (value) => {
    const instant = timestamp(value);
    if (instant <= now) throw new Unacceptable('must be in the future');
    return instant;
  });
}

const insertApiKey = statement('insert_api_key')`
  with created as (
    insert into api_keys as k (application_id, id, digest, created_at, name, expires_at, use, declared_by_file)
    select id, ${p.uuid('apiKeyId')}, ${p.bytes('digest')}, ${p.instant('now')},
      coalesce(${p.text('name')}, ${defaultKeyName(sql`applications.name`)}),
      ${p.instant('expiresAt')}, ${p.text('use')}, ${p.text('auditActorType')} = 'file'
    from applications where id = ${p.uuid('applicationId')} and deleted_at is null
    returning k.id
  ), ${auditEvent({ resource: sql`id`, from: sql`created` })}
  select from created`;
