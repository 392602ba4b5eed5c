import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import { auditEvents, isAct, isFrequentAction, isOperatorAct, NO_APPLICATION } from '../../database/audit-schema.ts';
import { p } from '../../database/template.ts';
import { createList, selectPage } from '../pages/list.ts';
import { type Rule, rule, Unacceptable } from '../rule.ts';
import { instantText } from '../text-rules.ts';
import { optional, text, uuid } from '../validation.ts';

export type AuditEvent = typeof auditEvents.$inferSelect;

/** Returns the fields as ListAuditEvents has them in JSON. */
export function presentAuditEvent({ id, applicationId, occurredAt, ...event }: AuditEvent) {
  return {
    auditEventId: id,
    occurredAt: occurredAt.toISOString(),
    ...event,
    ...(applicationId !== NO_APPLICATION && { applicationId }),
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
  since: optional(instantText),
  until: optional(instantText),
};

const inTime = sql`occurred_at >= coalesce(${p.instant('since')}, '-infinity')
  and occurred_at < coalesce(${p.instant('until')}, 'infinity')`;

const page = {
  columns: getTableColumns(auditEvents),
  order: [auditEvents.occurredAt, auditEvents.id],
  // An application has few of all events, or most of them.
  isPlannedAnew: true,
} as const;

/**
 * Returns a page of the audit log, of one application or of all. With a resource, an actor or an action, it leaves out
 * sign-ins, sign-outs and check-ins, which have no such index.
 */
export const listAuditEvents = createList('select_audit_events', {
  ...page,
  where: inTime,
  name: 'audit-events',
  rules,
  find: ({ applicationId: application, ...filters }) => selects.get(keyOf({ application, ...filters })),
});

/** Returns a page of what operators did, with a key or in the console. */
export const listOperatorActs = createList('select_operator_acts', {
  columns: page.columns,
  order: page.order,
  name: 'operator-acts',
  where: isOperatorAct,
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
 * Returns conditions for which Postgres has one index, and no choice: it would take what one key has done in millions for a
 * few rows. So columns that another index begins with are in expressions, and a resource is a subquery, whose value it
 * does not look up in its statistics.
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

/** One statement for each combination: where a parameter may be null, Postgres plans for any. */
const selects = new Map(
  combine(FILTERS).map((filters) => {
    const key = filters.join('_');
    const name = `select_audit_events_by_${key}`;
    const where = sql.join([inTime, ...conditionsOf(filters)], sql` and `);
    return [key, selectPage(name, { ...page, where })];
  }),
);

/** Returns every choice of some of them, in their order. */
function combine([first, ...rest]: readonly Filter[]): Filter[][] {
  if (first === undefined) return [];
  const others = combine(rest);
  return [[first], ...others.map((set) => [first, ...set]), ...others];
}
