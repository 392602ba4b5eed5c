import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../../../database/sql/template.ts';
import { auditEvent } from '../../../../domain/audit/audit-event.ts';
import type { Call } from '../../../../domain/core/call.ts';
import { liveSignIn, signInOf } from '../../../../domain/login/find-login-state.ts';
import { noticesOf } from '../../../../domain/notices/store-notice.ts';
import { noticeOfAccess } from '../authorization/consent.ts';
import type { TokenKeys } from '../tokens/token-keys.ts';
import type { DeviceLogin } from './find-device-login.ts';

/** Stores that the person lets no device in. The first decision counts: later ones change nothing. */
export async function denyDevice(
  { run, now }: Call,
  { applicationId, id: loginIntentId }: Pick<DeviceLogin, 'applicationId' | 'id'>,
): Promise<void> {
  await run(deny, { applicationId, loginIntentId, now });
}

/** Lets the device in, unless the sign-in has ended, or a decision was made before. The user gets a notice. */
export async function allowDevice(
  call: Call,
  { deviceApproval }: Pick<TokenKeys, 'deviceApproval'>,
  login: DeviceLogin & { readonly completedAt: Date; readonly userId: string },
): Promise<void> {
  const { applicationId, clientName, id: loginIntentId, startedFrom, userId } = login;
  const access = [userId, applicationId, clientName, startedFrom];
  const notice = await noticeOfAccess(call, deviceApproval, { applicationId, access });
  await call.run(allow, { ...signInOf(login), ...notice, loginIntentId, clientName, now: call.now });
  call.notices?.wake();
}

const decide = (approved: SQL, condition: SQL) => sql`decided as (
    update login_intents set approved = ${approved}
    -- Equivalent: conjunct: says on which server the row is
    where application_id = ${p.uuid('applicationId')}
      and id = ${p.uuid('loginIntentId')} and approved is null and ${condition}
    returning user_id, coalesce(user_id, id) as resource
  ), ${auditEvent({ resource: sql`resource`, from: sql`decided` })}`;

const deny = statement('deny_device')`
  with ${decide(sql`false`, sql`true`)}
  select from decided`;

const allow = statement('allow_device')`
  with ${liveSignIn.cte}, ${decide(sql`true`, sql`completed_at is not null and ${liveSignIn.isThere}`)}, ${noticesOf({
    kind: 'deviceAllowed',
    from: sql`decided join users on users.id = decided.user_id`,
    userId: sql`users.id`,
    recipient: sql`users.email`,
    value: p.text('clientName'),
  })}
  select from decided`;
