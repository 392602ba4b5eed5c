import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import {
  auditEvents,
  hashInApplicationOf,
  hashOf,
  isAct,
  isActOfOperator,
  isActOfSomebody,
  isFrequentAction,
  isOperatorAct,
  NO_APPLICATION,
  shortHashOf,
} from '../../database/schema/audit-schema.ts';
import { p, type RowOfType, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { type Rule, rule, Unacceptable } from '../core/rule.ts';
import { optional, text, timestamp, UUID, uuid } from '../core/validation.ts';
import { createList, selectPage } from '../pages/list.ts';

const {
  method: _method,
  userAgent: _userAgent,
  network: _network,
  attempts: _attempts,
  ...shownColumns
} = getTableColumns(auditEvents);

export type AuditEvent = RowOfType<typeof shownColumns>;

/** Returns an event as ListAuditEvents has it in JSON. */
export function presentAuditEvent({ id, applicationId, occurredAt, onBehalfBy, note, ...event }: AuditEvent) {
  return {
    auditEventId: id,
    occurredAt: occurredAt.toISOString(),
    ...event,
    ...(applicationId !== NO_APPLICATION && { applicationId }),
    ...(onBehalfBy !== null && { onBehalfBy }),
    ...(note !== null && { note }),
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
  columns: shownColumns,
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
  async find({ applicationId, ...filters }, { run }: Call) {
    const { actor } = filters;
    const isOfKey = applicationId !== null && actor !== null && UUID.test(actor);
    const [key] = isOfKey ? await run(selectKeyOfApplication, { applicationId, actor }) : [];
    // All that an API key does is in its application, so that the index by its ID is enough.
    return selects.get(keyOf({ application: key ? null : applicationId, ...filters }));
  },
});

const selectKeyOfApplication = statement('select_key_of_application')`
  select from api_keys where application_id = ${p.uuid('applicationId')} and id = ${p.uuid('actor')}`;

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

const { applicationId, ...columns } = auditEvents;

/**
 * Returns conditions that exactly one index can serve. Given a choice, Postgres may estimate a few rows where one key
 * has millions, and take the wrong index. Columns are compared beside their hashes, of which two could be the same:
 * in a `coalesce`, of which Postgres estimates that it changes little.
 */
function conditionsOf(filters: readonly Filter[]): SQL[] {
  const ofApplication = filters.includes('application');
  const others = filters.filter((filter) => filter !== 'application');
  const isGiven = others.map((filter) => sql`coalesce(${columns[filter]} = ${p.text(filter)}, false)`);
  if (others[0] === 'resource') {
    // The primary key begins with the application.
    const [application, given] = [sql`${applicationId}::text`, sql`${p.uuid('applicationId')}::text`];
    const rest = others.slice(1).map((filter) => sql`${shortHashOf(columns[filter])} = ${shortHashOf(p.text(filter))}`);
    if (ofApplication)
      rest.push(
        sql`${shortHashOf(application)} = ${shortHashOf(given)} and coalesce(${application} = ${given}, false)`,
      );
    return [isAct, sql`${hashOf(columns.resource)} = ${hashOf(p.text('resource'))}`, ...rest, ...isGiven];
  }
  if (ofApplication) isGiven.push(sql`${applicationId} = ${p.uuid('applicationId')}`);
  if (others.length === 0) return isGiven;
  const hash = ofApplication ? hashInApplicationOf : hashOf;
  const among = others[0] === 'action' ? isAct : ofApplication ? isActOfOperator : isActOfSomebody;
  const [ofColumns, ofGiven] = [others.map((filter) => columns[filter]), others.map((filter) => p.text(filter))];
  return [among, sql`${hash(...ofColumns)} = ${hash(...ofGiven)}`, ...isGiven];
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
