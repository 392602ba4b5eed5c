import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, listOf, orDefault, type Unchecked } from '../core/validation.ts';
import type { RowCipher } from '../crypto/aes-gcm.ts';
import type { AddressPolicy } from './address-policy.ts';
import { eventType, MAX_EVENT_TYPES, ownerColumns, selectOwner, type Webhook, webhookRules } from './webhook.ts';

export interface CreateWebhookParts {
  readonly cipher: RowCipher;
  readonly policy: AddressPolicy;
  /** How many webhooks an application may have. Concurrent calls may exceed it by their number. */
  readonly webhooksPerApplication: number;
}

/**
 * Creates a webhook with a new signing key.
 *
 * @throws ServiceError `User not found` for an owner who is no user of the application, `Too many webhooks`
 */
export async function createWebhook(
  { application, run, now }: ApplicationCall,
  { cipher, policy, webhooksPerApplication }: CreateWebhookParts,
  request: Unchecked<keyof ReturnType<typeof webhookRules>>,
): Promise<Webhook> {
  const { url, ownerId, isActive, ordered, description } = webhookRules(policy);
  const rules = {
    url,
    ownerId,
    isActive: orDefault(isActive, true),
    // Without event types, a webhook would get nothing. Only an update may set an empty list.
    eventTypes: listOf(eventType, { min: 1, max: MAX_EVENT_TYPES }),
    ordered: orDefault(ordered, false),
    description,
  };
  const webhook = { ...check(request, rules), id: `wh_${randomBytes(16).toString('hex')}` };
  const signingKey = createSigningKey();

  const [found] = await run(insertWebhook, {
    ...webhook,
    applicationId: application.id,
    signingKey: cipher.encrypt(signingKey, { applicationId: application.id, id: webhook.id }),
    most: webhooksPerApplication,
    now,
  });
  if (!found) throw new ServiceError('USER_NOT_FOUND');
  const { isFull, ...owner } = found;
  if (isFull) throw new ServiceError('TOO_MANY_WEBHOOKS');
  return { ...webhook, signingKey, application, owner, disabledReason: null, createdAt: now, updatedAt: now };
}

/** Returns a new signing key, in the form that Standard Webhooks define for symmetric signatures. */
export function createSigningKey(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** Returns the owner, or no row if the application has no such user. */
const insertWebhook = statement('insert_webhook', { ...ownerColumns, isFull: t.boolean })`
  with owner as (${selectOwner}
  ), present as (
    -- The endpoint of back-channel logout has no owner.
    select count(*) >= ${p.integer('most')} as is_full from webhooks
    where application_id = ${p.uuid('applicationId')} and owner_id is not null
  ), created as (
    insert into webhooks
      (application_id, id, url, signing_key, is_active, description, event_types, ordered, owner_id, created_at, updated_at)
    select ${p.uuid('applicationId')}, ${p.text('id')}, ${p.text('url')}, ${p.bytes('signingKey')},
      ${p.boolean('isActive')}, ${p.text('description')}, ${p.texts('eventTypes')}, ${p.boolean('ordered')}, id,
      ${p.instant('now')}, ${p.instant('now')}
    from owner, present where not is_full returning id
  ), ${auditEvent({ resource: sql`id`, from: sql`created` })}
  select id, name, email, is_full from owner, present`;
