import { sql } from 'drizzle-orm';
import { p, statement } from '../../database/template.ts';
import { auditEvent, noApplication } from '../audit/audit-event.ts';
import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { rule } from '../rule.ts';
import { check, identifier, text, type Unchecked, uuid } from '../validation.ts';

/** In characters. */
export const MAX_PASSKEY_NAME = 64;

const shortText = text({ max: MAX_PASSKEY_NAME });
/** `identifier` refuses control characters. */
const name = rule({ ...identifier.schema, ...shortText.schema }, (value) => identifier(shortText(value)));

const rules = { userId: uuid, passkeyId: uuid, name };

/** @throws ServiceError `Passkey not found` */
export async function renamePasskey({ run }: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const [renamed] = await run(updateName, check(request, rules));
  if (!renamed) throw new ServiceError('PASSKEY_NOT_FOUND');
}

const updateName = statement('rename_passkey')`
  with renamed as (
    update passkeys set name = ${p.text('name')}
    where user_id = ${p.uuid('userId')} and id = ${p.uuid('passkeyId')}
    returning id
  ), ${auditEvent({ resource: sql`id`, from: sql`renamed`, applicationId: noApplication })}
  select from renamed`;
