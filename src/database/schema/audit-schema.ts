import { type SQL, sql } from 'drizzle-orm';
import { index, integer, type PgColumn, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instant } from './column-types.ts';
import type { TableFacts } from './table-facts.ts';

/**
 * The application ID of events that concern no single application. Not null, because the table is distributed by it.
 */
export const NO_APPLICATION = '00000000-0000-0000-0000-000000000000';

/** Actions that sign users in. Actions of sign-ins by other providers and OpenID Connect begin with FREQUENT_PATHS. */
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

/** Actions that are as frequent as sign-ins: users also sign out, and check in to events. */
const FREQUENT = [...SIGN_INS, 'EventService/CheckIn', 'EventService/UndoCheckIn', 'SessionService/RevokeSession'];

const quote = (actions: readonly string[]) => actions.map((action) => `'${action}'`).join(', ');

/** The actions of sign-ins that failed or were refused begin with it, and end with the reason. */
export const ATTEMPT_PREFIX = 'SignIn/';

/** Selects the sign-ins that failed or were refused. */
export const isAttempt = sql.raw(`action like '${ATTEMPT_PREFIX}%'`);

/** Selects the events that are kept for SIGN_IN_LOG_DAYS. */
export const isSignIn = sql.raw(
  `(action in (${quote(SIGN_INS)}) or action like 'GET /login/callback%' or action = 'POST /oidc/token' or action like '${ATTEMPT_PREFIX}%')`,
);

const act = `action not in (${quote(FREQUENT)}) and ${FREQUENT_PATHS.map((path) => `action not like '${path}%'`).join(' and ')}`;

/**
 * Selects the events whose action is not frequent. Only they are in the indexes by actor and action, so a login writes
 * to none of these. A change of this condition, or of the next two, needs a migration that creates
 * the indexes again.
 */
export const isAct = sql.raw(act);

/** Selects the events that are found by their resource: all but check-ins, whose resource is busy. */
export const isFoundByResource = sql.raw(
  `action not in (${quote(['EventService/CheckIn', 'EventService/UndoCheckIn'])})`,
);

/** Selects what operators have done in the console, also what is frequent. */
export const isOfConsole = sql.raw("actor_type = 'console'");

/** Selects the acts whose actor has a name or an ID. */
export const isActOfSomebody = sql.raw(`${act} and actor <> ''`);

/** Selects the acts whose actor may act in several applications. All acts of an API key, which is a UUID, are in one. */
export const isActOfOperator = sql.raw(`${act} and actor <> '' and (actor_type <> 'api_key' or length(actor) < 36)`);

export function isFrequentAction(action: string): boolean {
  return FREQUENT.includes(action) || FREQUENT_PATHS.some((path) => action.startsWith(path));
}

/** Selects the events of operators, other than completed logins. */
export const isOperatorAct = sql.raw(
  "actor_type in ('admin_key', 'console') and action <> 'AdminService/CompleteLogin'",
);

type Text = PgColumn | SQL;

/** Returns the hash of texts as the indexes have it, of columns or of parameters. */
export const hashOf = (...texts: readonly Text[]): SQL =>
  sql`hashtextextended(${sql.join([...texts], sql` || ' ' || `)}, 0)`;

/** The same for indexes that begin with the application, which serve no other condition. */
export const hashInApplicationOf = (...texts: readonly Text[]): SQL =>
  sql`hashtextextended(${sql.join([...texts], sql` || ' ' || `)}, 1)`;

/** Returns a hash of 4 bytes instead of 8. */
export const shortHashOf = (text: Text): SQL => sql`hashtext(${text})`;

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

const eventColumns = {
  ...columns,
  /** Who has signed in on behalf of the user who is the resource. */
  onBehalfBy: text('on_behalf_by'),
  /** Why an operator has done it. Erased with the user. */
  note: text('note'),
  /** Of a sign-in that failed or was refused: how it was tried, and where. An erasure deletes such events of the user. */
  method: text('method'),
  userAgent: text('user_agent'),
  /** As `siteOf` returns it. */
  network: text('network'),
  /** How often, from the network. More than one only of addresses that no user has. */
  attempts: integer('attempts'),
};

/** Who changed what. A row is inserted by the statement that makes the change. */
export const auditEvents = pgTable('audit_events', eventColumns, (table) => [
  primaryKey({ columns: [table.applicationId, table.occurredAt, table.id] }),
  index('audit_events_list_idx').on(table.occurredAt, table.id),
  // An index for each combination of filters, by a hash of its columns: entries have 40 to 56 bytes instead of up to 160.
  index('audit_events_found_by_resource_idx')
    .on(
      hashOf(table.resource),
      table.occurredAt,
      table.id,
      // They filter the events on a busy resource.
      shortHashOf(table.actor),
      shortHashOf(table.action),
      shortHashOf(sql`${table.applicationId}::text`),
    )
    .where(isFoundByResource),
  // The same for an operator.
  index('audit_events_found_by_operator_idx')
    .on(
      hashOf(table.actor),
      table.occurredAt,
      table.id,
      shortHashOf(table.resource),
      shortHashOf(table.action),
      shortHashOf(sql`${table.applicationId}::text`),
    )
    .where(isOfConsole),
  index('audit_events_of_actor_idx').on(hashOf(table.actor), table.occurredAt, table.id).where(isActOfSomebody),
  index('audit_events_of_action_idx').on(hashOf(table.action), table.occurredAt, table.id).where(isAct),
  index('audit_events_of_actor_action_idx')
    .on(hashOf(table.actor, table.action), table.occurredAt, table.id)
    .where(isActOfSomebody),
  index('audit_events_of_application_action_idx')
    .on(table.applicationId, hashInApplicationOf(table.action), table.occurredAt, table.id)
    .where(isAct),
  index('audit_events_of_application_actor_idx')
    .on(table.applicationId, hashInApplicationOf(table.actor), table.occurredAt, table.id)
    .where(isActOfOperator),
  index('audit_events_of_application_actor_action_idx')
    .on(table.applicationId, hashInApplicationOf(table.actor, table.action), table.occurredAt, table.id)
    .where(isActOfOperator),
  index('audit_events_operator_idx').on(table.occurredAt, table.id).where(isOperatorAct),
  // Few events, so a sign-in that succeeds writes into none of these.
  index('audit_events_attempts_idx').on(table.occurredAt, table.id).where(isAttempt),
  index('audit_events_user_attempts_idx').on(table.resource, table.occurredAt, table.id).where(isAttempt),
  index('audit_events_application_attempts_idx').on(table.applicationId, table.occurredAt, table.id).where(isAttempt),
]);

/** For version 1.0.0, which could send events to its log. A later version drops it. */
export const auditOutbox = pgTable('audit_outbox', columns, (table) => [
  primaryKey({ columns: [table.id, table.applicationId] }),
  index('audit_outbox_late_idx').on(table.occurredAt, table.id),
]);

export const AUDIT_TABLES: readonly TableFacts[] = [
  {
    table: auditEvents,
    distributedBy: auditEvents.applicationId,
    expires: [
      { expiresAt: auditEvents.occurredAt, keptFor: 'auditLogDays' },
      { expiresAt: auditEvents.occurredAt, keptFor: 'signInLogDays', only: isSignIn, mark: 'sign-ins' },
    ],
    erasedBy: [],
  },
  { table: auditOutbox, distributedBy: auditOutbox.applicationId, expires: [], erasedBy: [] },
];
