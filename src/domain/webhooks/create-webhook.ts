import { randomBytes } from 'node:crypto';
import { eq, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { webhooks } from '../../database/webhook-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, optional, type Unchecked } from '../validation.ts';
import type { AddressPolicy } from './address-policy.ts';
import type { SigningKeyCipher } from './signing-key-cipher.ts';
import { isOwner, type Webhook, webhookRules } from './webhook.ts';

/**
 * Creates a webhook with a new signing key.
 *
 * @throws ServiceError `User not found` for an owner who is no user of the application
 */
export async function createWebhook(
  { application, run, now }: ApplicationCall,
  { cipher, policy }: { readonly cipher: SigningKeyCipher; readonly policy: AddressPolicy },
  request: Unchecked<keyof ReturnType<typeof webhookRules>>,
): Promise<Webhook> {
  const { url, ownerId, isActive, eventTypes, ordered, description } = webhookRules(policy);
  const rules = {
    url,
    ownerId,
    isActive: optional(isActive),
    eventTypes: optional(eventTypes),
    ordered: optional(ordered),
    description,
  };
  const checked = check(request, rules);
  const webhook = {
    ...checked,
    id: `wh_${randomBytes(16).toString('hex')}`,
    isActive: checked.isActive ?? true,
    eventTypes: checked.eventTypes ?? [],
    ordered: checked.ordered ?? false,
  };
  const signingKey = createSigningKey();

  const [owner] = await run(insertWebhook, {
    ...webhook,
    applicationId: application.id,
    signingKey: cipher.encrypt(signingKey, { applicationId: application.id, webhookId: webhook.id }),
    now,
  });
  if (!owner) throw new ServiceError('USER_NOT_FOUND');
  return { ...webhook, signingKey, application, owner, disabledReason: null, createdAt: now, updatedAt: now };
}

/** Returns a new signing key. Standard Webhooks, "Symmetric signatures". */
export function createSigningKey(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** Returns the owner, or no row if the application has no such user. */
const insertWebhook: Statement<Webhook['owner'][]> = (db) => {
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const owner = db
    .$with('owner')
    .as(db.select({ id: users.id, name: users.name, email: users.email }).from(users).where(isOwner(db)));
  const created = db.$with('created').as(
    db
      .insert(webhooks)
      .select(
        db
          .select({
            applicationId: sql`${sql.placeholder('applicationId')}::uuid`.as('application_id'),
            id: sql`${sql.placeholder('id')}::text`.as('webhook_id'),
            url: sql`${sql.placeholder('url')}::text`.as('url'),
            signingKey: sql`${sql.placeholder('signingKey')}::bytea`.as('signing_key'),
            isActive: sql`${sql.placeholder('isActive')}::boolean`.as('is_active'),
            disabledReason: sql`null::text`.as('disabled_reason'),
            description: sql`${sql.placeholder('description')}::text`.as('description'),
            eventTypes: sql`${sql.param(sql.placeholder('eventTypes'), webhooks.eventTypes)}::text[]`.as('event_types'),
            ordered: sql`${sql.placeholder('ordered')}::boolean`.as('ordered'),
            ownerId: owner.id,
            createdAt: now.as('created_at'),
            updatedAt: now.as('updated_at'),
          })
          .from(owner),
      )
      .returning({ ownerId: webhooks.ownerId }),
  );
  const resource = sql`${sql.placeholder('id')}`;
  const audit = insertAuditEvent(db, { resource, from: sql`created` });
  return db
    .with(owner, created, audit)
    .select({ id: owner.id, name: owner.name, email: owner.email })
    .from(owner)
    .innerJoin(created, eq(created.ownerId, owner.id))
    .prepare('insert_webhook');
};
