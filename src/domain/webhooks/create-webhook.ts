import { randomBytes } from 'node:crypto';
import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Statement } from '../../database/database.ts';
import { instantPlaceholder, users, webhooks } from '../../database/schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import { check, type Unchecked, uuid, webUrl } from '../validation.ts';
import type { SigningKeyCipher } from './signing-key-cipher.ts';
import type { Webhook } from './webhook.ts';

const rules = { url: webUrl, ownerId: uuid };

/** Creates an active webhook with a new signing key. @throws ServiceError `User not found` for an unknown owner */
export async function createWebhook(
  { application, run, now }: ApplicationCall,
  cipher: SigningKeyCipher,
  request: Unchecked<keyof typeof rules>,
): Promise<Webhook> {
  const { url, ownerId } = check(request, rules);
  const id = `wh_${randomBytes(16).toString('hex')}`;
  // Standard Webhooks, "Symmetric signatures".
  const signingKey = `whsec_${randomBytes(32).toString('base64')}`;

  const [owner] = await run(insertWebhook, {
    applicationId: application.id,
    id,
    url,
    signingKey: cipher.encrypt(signingKey, { applicationId: application.id, webhookId: id }),
    ownerId,
    now,
  });
  if (!owner) throw new ServiceError('USER_NOT_FOUND');
  return { id, signingKey, url, isActive: true, application, owner, createdAt: now, updatedAt: now };
}

/** Returns the owner, or no row if there is no such user. */
const insertWebhook: Statement<Webhook['owner'][]> = (db) => {
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const owner = db.$with('owner').as(
    db
      .select({ id: users.id, name: users.name, email: users.email })
      .from(users)
      .where(and(eq(users.id, sql.placeholder('ownerId')), isNull(users.deletedAt))),
  );
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
            isActive: sql`true`.as('is_active'),
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
