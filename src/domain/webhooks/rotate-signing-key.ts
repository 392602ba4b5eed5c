import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import { auditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { check, integer, orDefault, type Unchecked } from '../core/validation.ts';
import type { RowCipher } from '../crypto/aes-gcm.ts';
import { createSigningKey } from './create-webhook.ts';
import { requireWebhook, webhookId } from './get-webhook.ts';
import { summaryColumns, summarySelection, type Webhook, webhookColumns } from './webhook.ts';

const DAY_SECONDS = 24 * 60 * 60;
/** How many earlier keys may sign besides the current one. */
const MAX_EARLIER_KEYS = 2;

const rules = { webhookId, overlapSeconds: orDefault(integer({ min: 0, max: 7 * DAY_SECONDS }), DAY_SECONDS) };

/**
 * Gives the webhook a new signing key. During the overlap, the previous key signs, too. If the overlap is 0, every
 * earlier key ends at once.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `Too many signing keys`
 */
export async function rotateSigningKey(
  call: ApplicationCall,
  cipher: RowCipher,
  request: Unchecked<keyof typeof rules>,
): Promise<Webhook> {
  const { webhookId, overlapSeconds } = check(request, rules);
  const { application, run, now } = call;
  const overlapMs = overlapSeconds * 1_000;
  const ofRow = { applicationId: application.id, id: webhookId };
  for (;;) {
    const { signingKey: current } = await requireWebhook(call, webhookId);
    const signingKey = createSigningKey();
    const [rotated] = await run(replaceSigningKey, {
      applicationId: application.id,
      webhookId,
      id: randomUUID(),
      current,
      renewed: cipher.encrypt(signingKey, ofRow),
      now,
      expiresAt: new Date(now.getTime() + overlapMs),
      hasOverlap: overlapMs > 0,
    });
    if (rotated?.isReplaced) {
      const { isReplaced: _, isFull: __, ...webhook } = rotated;
      return { ...webhook, signingKey, application };
    }
    if (rotated?.isFull) throw new ServiceError('TOO_MANY_SIGNING_KEYS');
    // Another rotation, or a re-encryption, has changed the key meanwhile. The deadline of the call ends this loop.
  }
}

/** Returns the webhook with its new key, because another rotation may replace that before a later statement. */
const replaceSigningKey = statement('replace_signing_key', {
  ...summaryColumns,
  isReplaced: t.boolean,
  isFull: t.boolean,
})`
  with earlier as (
    select ${p.boolean('hasOverlap')} and count(*) >= ${sql.raw(`${MAX_EARLIER_KEYS}`)} as is_full
    from webhook_signing_keys
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and expires_at > ${p.instant('now')}
  ), replaced as (
    update webhooks set signing_key = ${p.bytes('renewed')}, updated_at = ${p.instant('now')}
    where application_id = ${p.uuid('applicationId')} and id = ${p.text('webhookId')}
      and signing_key = ${p.bytes('current')} and not (select is_full from earlier)
    returning ${columnsOf(webhookColumns)}, owner_id
  ), kept as (
    insert into webhook_signing_keys (application_id, webhook_id, id, signing_key, expires_at)
    select ${p.uuid('applicationId')}, replaced.id, ${p.uuid('id')}, ${p.bytes('current')}, ${p.instant('expiresAt')}
    from replaced where ${p.boolean('hasOverlap')}
  ), ended as (
    delete from webhook_signing_keys
    where application_id = ${p.uuid('applicationId')} and webhook_id = ${p.text('webhookId')}
      and not ${p.boolean('hasOverlap')} and exists (select 1 from replaced)
  ), ${auditEvent({ resource: sql`id`, from: sql`replaced` })}
  select ${summarySelection}, webhooks.id is not null as is_replaced, is_full
  from earlier left join replaced as webhooks on true left join users on users.id = webhooks.owner_id`;
