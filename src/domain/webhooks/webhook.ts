import { and, eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { Db, RowOf } from '../../database/database.ts';
import { users } from '../../database/schema.ts';
import { webhooks } from '../../database/webhook-schema.ts';
import type { Application } from '../call.ts';
import { rule, Unacceptable } from '../rule.ts';
import { oneOf } from '../text-rules.ts';
import { isUserOfApplication } from '../users/application-user.ts';
import { boolean, change, identifier, listOf, optional, uuid, webUrl } from '../validation.ts';
import type { AddressPolicy } from './address-policy.ts';
import { EVENT_TYPES, EVERY_TYPE } from './event-types.ts';
import { findUrlProblem } from './webhook-url.ts';

export const summaryColumns = {
  id: webhooks.id,
  url: webhooks.url,
  isActive: webhooks.isActive,
  eventTypes: webhooks.eventTypes,
  ordered: webhooks.ordered,
  description: webhooks.description,
  disabledReason: webhooks.disabledReason,
  owner: { id: users.id, name: users.name, email: users.email },
  createdAt: webhooks.createdAt,
  updatedAt: webhooks.updatedAt,
};

/** A webhook without its signing key. */
export type WebhookSummary = RowOf<typeof summaryColumns>;

export interface Webhook extends WebhookSummary {
  readonly signingKey: string;
  readonly application: Application;
}

/** Selects the webhook of the application. Placeholders: applicationId, webhookId. */
export const isOwnWebhook = and(
  eq(webhooks.applicationId, sql.placeholder('applicationId')),
  eq(webhooks.id, sql.placeholder('webhookId')),
);

/** Selects the user who may own webhooks of the application. Placeholders: applicationId, ownerId. */
export function isOwner(db: Db): SQL | undefined {
  const ownerId = sql.placeholder('ownerId');
  return and(eq(users.id, ownerId), isNull(users.deletedAt), isUserOfApplication(db, ownerId));
}

/** Returns the CTE `target`, which locks the webhook against changes, and is empty unless it is active. */
export function lockActiveWebhook(db: Db) {
  return db
    .$with('target')
    .as(
      db.select({ id: webhooks.id }).from(webhooks).where(sql`${isOwnWebhook} and ${webhooks.isActive}`).for('share'),
    );
}

const TYPES = [...EVENT_TYPES, EVERY_TYPE] as const;

/** Returns the rules for what callers set. */
export function webhookRules(policy: AddressPolicy) {
  const url = rule({ ...webUrl.schema, format: 'webhook-url' }, (value) => {
    const accepted = webUrl(value);
    const problem = findUrlProblem(accepted, policy);
    if (problem !== undefined) throw new Unacceptable(problem);
    return accepted;
  });
  return {
    url,
    ownerId: uuid,
    isActive: boolean,
    eventTypes: listOf(oneOf(TYPES), { min: 0, max: TYPES.length }),
    ordered: boolean,
    description: optional(identifier),
  };
}

/** Returns the rules for an update, which leaves absent fields as they are. */
export function webhookChangeRules(policy: AddressPolicy) {
  const { url, ownerId, isActive, eventTypes, ordered, description } = webhookRules(policy);
  return {
    url: change(url),
    ownerId: change(ownerId),
    isActive: change(isActive),
    eventTypes: change(eventTypes),
    ordered: change(ordered),
    description: change(description),
  };
}
