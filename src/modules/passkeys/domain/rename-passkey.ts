import { sql } from 'drizzle-orm';
import { p, statement } from '../../../database/sql/template.ts';
import { auditEvent, noApplication } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { rule } from '../../../domain/core/rule.ts';
import { check, identifier, text, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { cutoffParameter, isStillSignedIn } from '../../../domain/users/still-signed-in.ts';

/** In characters. */
export const MAX_PASSKEY_NAME = 64;

const shortText = text({ max: MAX_PASSKEY_NAME });
/** `identifier` refuses control characters. */
const name = rule({ ...identifier.schema, ...shortText.schema }, (value) => identifier(shortText(value)));

const rules = { userId: uuid, passkeyId: uuid, name };

/** @throws ServiceError `Passkey not found` */
export async function renamePasskey(call: Call, request: Unchecked<keyof typeof rules>): Promise<void> {
  const [renamed] = await call.run(updateName, { ...check(request, rules), ...cutoffParameter(call) });
  if (!renamed) throw new ServiceError('PASSKEY_NOT_FOUND');
}

const updateName = statement('rename_passkey')`
  with owner as (
    select id from users where id = ${p.uuid('userId')} and ${isStillSignedIn} for no key update
  ), renamed as (
    update passkeys k set name = ${p.text('name')} from owner
    where k.user_id = owner.id and k.id = ${p.uuid('passkeyId')}
    returning k.id
  ), ${auditEvent({ resource: sql`id`, from: sql`renamed`, applicationId: noApplication })}
  select from renamed`;
