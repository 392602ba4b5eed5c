import { sql } from 'drizzle-orm';
import type { RowOf } from '../../database/pool/database.ts';
import { users } from '../../database/schema/schema.ts';
import { webhooks } from '../../database/schema/webhook-schema.ts';
import { columnsOf, p, type RowOfType, t } from '../../database/sql/template.ts';
import type { Application } from '../core/call.ts';
import { rule, Unacceptable } from '../core/rule.ts';
import { boolean, identifier, listOf, oneOf, optional, uuid, webUrl } from '../core/validation.ts';
import { EVENT_TYPES, EVERY_TYPE } from '../outbox/event-types.ts';
import { jsonObject } from '../outbox/insert-message.ts';
import { isUserOfApplication } from '../users/application-user.ts';
import { type AddressPolicy, findUrlProblem } from './address-policy.ts';

export const ownerColumns = { id: users.id, name: users.name, email: users.email };

const { id, url, isActive, eventTypes, ordered, description, disabledReason, createdAt, updatedAt } = webhooks;
const state = { isActive, eventTypes, ordered, description, disabledReason };
export const webhookColumns = { id, url, ...state, createdAt, updatedAt };
export const summaryColumns = { ...webhookColumns, owner: t.json<RowOf<typeof ownerColumns>>() };

/** A webhook without its signing key. */
export type WebhookSummary = RowOfType<typeof summaryColumns>;

const owner = jsonObject({ id: sql`users.id`, name: sql`users.name`, email: sql`users.email` });
/** `summaryColumns` as SQL, from `webhooks` and `users`. */
export const summarySelection = sql`${columnsOf(webhookColumns, 'webhooks')}, ${owner} as owner`;

export interface Webhook extends WebhookSummary {
  readonly signingKey: string;
  readonly application: Application;
}

/** Selects the user who may own webhooks of the application. Parameters: applicationId, ownerId. */
export const selectOwner = sql`
  select id, name, email from users
  where id = ${p.uuid('ownerId')} and deleted_at is null and ${isUserOfApplication(p.uuid('ownerId'))}`;

/** Selects the ID of the webhook if it is active, and locks it against changes. Parameters: applicationId, webhookId. */
export const lockActive = sql`
  select id from webhooks
  where application_id = ${p.uuid('applicationId')} and id = ${p.text('webhookId')} and is_active
  for share`;

const TYPES = [...EVENT_TYPES, EVERY_TYPE] as const;
export const eventType = oneOf(TYPES);
export const MAX_EVENT_TYPES = TYPES.length;

/** Says where IDs are, because who creates a first webhook may have none yet. */
const ownerId = rule(uuid.schema, (value) => {
  if (value === undefined || value === '')
    throw new Unacceptable('is required: the ID of a user, as ExchangeToken and ListUsers return it');
  return uuid(value);
});

/** Returns the rules of the fields that callers set. */
export function webhookRules(policy: AddressPolicy) {
  const url = rule({ ...webUrl.schema, format: 'webhook-url' }, (value) => {
    const accepted = webUrl(value);
    const problem = findUrlProblem(accepted, policy);
    if (problem !== undefined) throw new Unacceptable(problem);
    return accepted;
  });
  return {
    url,
    ownerId,
    isActive: boolean,
    eventTypes: listOf(eventType, { min: 0, max: MAX_EVENT_TYPES }),
    ordered: boolean,
    description: optional(identifier),
  };
}
