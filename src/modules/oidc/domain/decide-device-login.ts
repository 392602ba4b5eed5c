import { sql } from 'drizzle-orm';
import { p, statement } from '../../../database/template.ts';
import { auditEvent } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import type { DeviceLogin } from './find-device-login.ts';

/**
 * Stores what the person has decided about a device. The first decision counts: later ones change nothing.
 *
 * @param approved true only for a login that was completed
 */
export async function decideDeviceLogin(
  { run, now }: Call,
  { applicationId, id: loginIntentId }: Pick<DeviceLogin, 'applicationId' | 'id'>,
  { approved }: { readonly approved: boolean },
): Promise<void> {
  await run(decide, { applicationId, loginIntentId, approved, now });
}

const decide = statement('decide_device_login', {})`
  with decided as (
    update login_intents set approved = ${p.boolean('approved')}
    where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('loginIntentId')} and response_mode = 'device'
      and approved is null and redeemed_at is null and expires_at > ${p.instant('now')}
      and (completed_at is not null or not ${p.boolean('approved')})
    returning coalesce(user_id, id) as resource
  ), ${auditEvent({ resource: sql`resource`, from: sql`decided` })}
  select from decided`;
