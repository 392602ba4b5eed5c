import { randomUUID } from 'node:crypto';
import { and, sql } from 'drizzle-orm';
import { matches, placeholders, type Statement } from '../../database/database.ts';
import { instantPlaceholder } from '../../database/schema.ts';
import { webhookSigningKeys, webhooks } from '../../database/webhook-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, integer, optional, type Unchecked } from '../validation.ts';
import { createSigningKey } from './create-webhook.ts';
import { getWebhook, requireWebhook } from './get-webhook.ts';
import { webhookId } from './ids.ts';
import type { SigningKeyCipher } from './signing-key-cipher.ts';
import type { Webhook } from './webhook.ts';

const DAY_SECONDS = 24 * 60 * 60;
/** Besides the current one. */
const MAX_EARLIER_KEYS = 2;

const rules = { webhookId, overlapSeconds: optional(integer({ min: 0, max: 7 * DAY_SECONDS })) };

/**
 * Gives the webhook a new signing key. The one before signs as well for the overlap; with an overlap of 0 every
 * earlier key ends at once.
 *
 * @throws ServiceError `Invalid webhook ID format`, `Webhook not found`, `Too many signing keys`
 */
export async function rotateSigningKey(
  call: ApplicationCall,
  cipher: SigningKeyCipher,
  request: Unchecked<keyof typeof rules>,
): Promise<Webhook> {
  const { webhookId, overlapSeconds } = check(request, rules);
  const { application, run, now } = call;
  const overlapMs = (overlapSeconds ?? DAY_SECONDS) * 1_000;
  const aad = { applicationId: application.id, webhookId };
  for (;;) {
    const { signingKey: current } = await requireWebhook(call, webhookId);
    const [rotated] = await run(replaceSigningKey, {
      ...aad,
      id: randomUUID(),
      current,
      renewed: cipher.encrypt(createSigningKey(), aad),
      now,
      expiresAt: new Date(now.getTime() + overlapMs),
      hasOverlap: overlapMs > 0,
    });
    if (rotated?.isReplaced) return getWebhook(call, cipher, { webhookId });
    if (rotated?.isFull) throw new ServiceError('TOO_MANY_SIGNING_KEYS');
    // Another rotation, or a new encryption of the key, has come between. The deadline of the call ends the attempts.
  }
}

const replaceSigningKey: Statement<{ isReplaced: boolean; isFull: boolean }[]> = (db) => {
  const { applicationId, webhookId, id, hasOverlap } = placeholders('applicationId', 'webhookId', 'id', 'hasOverlap');
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const isOfWebhook = matches(webhookSigningKeys, 'applicationId', 'webhookId');
  const mayReplace = sql`(not ${hasOverlap}::boolean or (
    select count(*) from ${webhookSigningKeys} where ${isOfWebhook} and ${webhookSigningKeys.expiresAt} > ${now}
  ) < ${sql.raw(String(MAX_EARLIER_KEYS))})`;
  const replaced = db.$with('replaced', { id: sql`id`.as('id') }).as(sql`
    update ${webhooks} set signing_key = ${sql.placeholder('renewed')}, updated_at = ${now}
    where application_id = ${applicationId} and id = ${webhookId} and signing_key = ${sql.placeholder('current')}
      and ${mayReplace}
    returning id`);
  const kept = db.$with('kept', {}).as(sql`
    insert into ${webhookSigningKeys} (application_id, webhook_id, id, signing_key, expires_at)
    select ${applicationId}::uuid, replaced.id, ${id}::uuid, ${sql.placeholder('current')}::bytea,
      ${instantPlaceholder('expiresAt')}::timestamptz
    from replaced where ${hasOverlap}::boolean returning id`);
  const ended = db.$with('ended').as(
    db
      .delete(webhookSigningKeys)
      .where(and(isOfWebhook, sql`not ${hasOverlap}::boolean and exists (select 1 from replaced)`))
      .returning({ id: webhookSigningKeys.id }),
  );
  const audit = insertAuditEvent(db, { resource: sql`id`, from: sql`replaced` });
  return db
    .with(replaced, audit, kept, ended)
    .select({
      isReplaced: sql<boolean>`exists (select 1 from replaced)`,
      isFull: sql<boolean>`not ${mayReplace}`,
    })
    .from(sql`(select) as nothing`)
    .prepare('replace_signing_key');
};
