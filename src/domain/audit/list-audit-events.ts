import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import {
  auditEvents,
  isAct,
  isFrequentAction,
  isOperatorAct,
  NO_APPLICATION,
} from '../../database/schema/audit-schema.ts';
import { p } from '../../database/sql/template.ts';
import { type Rule, rule, Unacceptable } from '../core/rule.ts';
import { optional, text, timestamp, uuid } from '../core/validation.ts';
import { createList, selectPage } from '../pages/list.ts';

export type AuditEvent = typeof auditEvents.$inferSelect;

/** Returns an event as ListAuditEvents has it in JSON. */
export function presentAuditEvent({ id, applicationId, occurredAt, onBehalfBy, ...event }: AuditEvent) {
  return {
    auditEventId: id,
    occurredAt: occurredAt.toISOString(),
    ...event,
    ...(applicationId !== NO_APPLICATION && { applicationId }),
    ...(onBehalfBy !== null && { onBehalfBy }),
  };
}

const filter = text({ max: 255 });

const indexedAction: Rule<string> = rule(filter.schema, (value) => {
  const action = filter(value);
  if (isFrequentAction(action)) throw new Unacceptable('must not be that of sign-ins, sign-outs or check-ins');
  return action;
});

const rules = {
  applicationId: optional(uuid),
  resource: optional(filter),
  actor: optional(filter),
  action: optional(indexedAction),
  since: optional(timestamp),
  until: optional(timestamp),
};

const inTime = sql`occurred_at >= coalesce(${p.instant('since')}, '-infinity')
  and occurred_at < coalesce(${p.instant('until')}, 'infinity')`;

const page = {
  columns: getTableColumns(auditEvents),
  order: [auditEvents.occurredAt, auditEvents.id],
  // No plan fits every application: one has few of all events, another has most of them.
  isPlannedAnew: true,
} as const;

/**
 * Returns a page of the audit log, of one application or of all. If the request has a resource, an actor or an action,
 * the page omits sign-ins, sign-outs and check-ins, because the indexes for these filters omit them.
 */
export const listAuditEvents = createList('select_audit_events', {
  ...page,
  where: inTime,
  name: 'audit-events',
  rules,
  find: ({ applicationId: application, ...filters }) => selects.get(keyOf({ application, ...filters })),
});

/** Returns a page of the events of operators, with an admin key or in the console. Omits the reader's own sign-ins. */
export const listOperatorEvents = createList('select_operator_events', {
  columns: page.columns,
  order: page.order,
  name: 'operator-events',
  rules: { readerId: uuid },
  where: sql`${isOperatorAct} and not (action = 'AuthService/ExchangeToken' and actor = ${p.uuid('readerId')}::text)`,
});

const FILTERS = ['application', 'resource', 'actor', 'action'] as const;
type Filter = (typeof FILTERS)[number];

function keyOf(given: Readonly<Record<Filter, unknown>>): string {
  return FILTERS.filter((filter) => given[filter] !== null).join('_');
}

const [application, resource, actor, action] = [
  p.uuid('applicationId'),
  p.text('resource'),
  p.text('actor'),
  p.text('action'),
];

/**
 * Returns conditions that exactly one index can serve. Given a choice, Postgres may estimate a few rows where one key
 * has millions, and take the wrong index. So a column with which another index begins is wrapped in an expression. The
 * resource is in a subquery, because Postgres then does not look its value up in the statistics.
 */
function conditionsOf(filters: readonly Filter[]): SQL[] {
  const [ofApplication, ofResource, ofActor, ofAction] = FILTERS.map((filter) => filters.includes(filter));
  const conditions = ofResource || ofActor || ofAction ? [sql`${isAct}`] : [];
  if (ofApplication)
    conditions.push(
      ofResource ? sql`application_id::text = ${application}::text` : sql`application_id = ${application}`,
    );
  if (ofResource) {
    conditions.push(sql`resource = (select ${resource})`);
    if (ofActor) conditions.push(sql`actor || '' = ${actor}`);
    if (ofAction) conditions.push(sql`action || '' = ${action}`);
  } else if (ofActor && ofAction) {
    conditions.push(
      ofApplication
        ? sql`action || ' ' || actor = ${action} || ' ' || ${actor}`
        : sql`actor || ' ' || action = ${actor} || ' ' || ${action}`,
    );
  } else if (ofActor) conditions.push(sql`actor = ${actor}`);
  else if (ofAction) conditions.push(sql`action = ${action}`);
  return conditions;
}

/**
 * One statement for each combination of filters: for a parameter that may be null, Postgres cannot rely on an index.
 */
const selects = new Map(
  combine(FILTERS).map((filters) => {
    const key = filters.join('_');
    const name = `select_audit_events_by_${key}`;
    const where = sql.join([inTime, ...conditionsOf(filters)], sql` and `);
    return [key, selectPage(name, { ...page, where })];
  }),
);

/** Returns every non-empty subset. Its filters keep their order. */
function combine([first, ...rest]: readonly Filter[]): Filter[][] {
  if (first === undefined) return [];
  const others = combine(rest);
  return [[first], ...others.map((set) => [first, ...set]), ...others];
}
