import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instant } from './schema.ts';

/** The application ID of events that concern no single application. It is no null, so that the table can be distributed. */
export const NO_APPLICATION = '00000000-0000-0000-0000-000000000000';

/** Actions that sign people in. Sign-ins by other providers and clients of OpenID Connect begin with the paths below. */
const SIGN_INS = [
  'AdminService/CompleteLogin',
  'AuthService/ExchangeToken',
  'SessionService/RenewSession',
  'GET /account/return',
  'POST /login/code',
  'POST /login/continue',
  'POST /login/passkey',
  'POST /login/wallet',
];
const FREQUENT_PATHS = ['GET /login/callback', 'POST /oidc/'];

/** People also sign out, and check in to events. */
const FREQUENT = [...SIGN_INS, 'EventService/CheckIn', 'EventService/UndoCheckIn', 'SessionService/RevokeSession'];

const quote = (actions: readonly string[]) => actions.map((action) => `'${action}'`).join(', ');

/** Selects the events that are kept for SIGN_IN_LOG_DAYS. */
export const isSignIn = sql.raw(
  `(action in (${quote(SIGN_INS)}) or action like 'GET /login/callback%' or action = 'POST /oidc/token')`,
);

/**
 * Selects events that are not among the frequent ones. The indexes by resource, actor and action have these alone, so a
 * login writes into none of them. Whoever changes it must create those indexes anew.
 */
export const isAct = sql.raw(
  `action not in (${quote(FREQUENT)}) and ${FREQUENT_PATHS.map((path) => `action not like '${path}%'`).join(' and ')}`,
);

export function isFrequentAction(action: string): boolean {
  return FREQUENT.includes(action) || FREQUENT_PATHS.some((path) => action.startsWith(path));
}

/** Selects what operators did, beside signing people in. */
export const isOperatorAct = sql.raw(
  "actor_type in ('admin_key', 'console') and action <> 'AdminService/CompleteLogin'",
);

const columns = {
  applicationId: uuid('application_id').notNull(),
  occurredAt: instant('occurred_at').notNull(),
  id: uuid('id').notNull(),
  actorType: text('actor_type').notNull(),
  actor: text('actor').notNull(),
  action: text('action').notNull(),
  resource: text('resource').notNull(),
  ipAddress: text('ip_address').notNull(),
  requestId: text('request_id').notNull(),
};

/** Who changed what. A row is inserted by the statement that makes the change. */
export const auditEvents = pgTable('audit_events', columns, (table) => [
  primaryKey({ columns: [table.applicationId, table.occurredAt, table.id] }),
  index('audit_events_list_idx').on(table.occurredAt, table.id),
  // With what selects among the acts on a busy resource. As expressions, which no other index has: see `listAuditEvents`.
  index('audit_events_act_resource_filters_idx')
    .on(
      table.resource,
      table.occurredAt,
      table.id,
      sql`(${table.actor} || '')`,
      sql`(${table.action} || '')`,
      sql`(${table.applicationId}::text)`,
    )
    .where(isAct),
  index('audit_events_act_actor_idx').on(table.actor, table.occurredAt, table.id).where(isAct),
  index('audit_events_act_action_idx').on(table.action, table.occurredAt, table.id).where(isAct),
  index('audit_events_act_application_actor_idx')
    .on(table.applicationId, table.actor, table.occurredAt, table.id)
    .where(isAct),
  index('audit_events_act_application_action_idx')
    .on(table.applicationId, table.action, table.occurredAt, table.id)
    .where(isAct),
  // A busy key that has seldom done one thing.
  index('audit_events_act_actor_action_idx')
    .on(sql`(${table.actor} || ' ' || ${table.action})`, table.occurredAt, table.id)
    .where(isAct),
  index('audit_events_act_application_action_actor_idx')
    .on(table.applicationId, sql`(${table.action} || ' ' || ${table.actor})`, table.occurredAt, table.id)
    .where(isAct),
  index('audit_events_operator_idx').on(table.occurredAt, table.id).where(isOperatorAct),
  // An erasure removes the addresses from which a user came.
  index('audit_events_resource_idx').on(table.resource).where(sql`${table.ipAddress} <> ''`),
]);

/** Events on their way to the log, with `AUDIT_LOG=log`. The ID leads, by which the process that made them finds them. */
export const auditOutbox = pgTable('audit_outbox', columns, (table) => [
  primaryKey({ columns: [table.id, table.applicationId] }),
  index('audit_outbox_late_idx').on(table.occurredAt, table.id),
]);
