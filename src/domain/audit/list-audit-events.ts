import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import {
  auditEvents,
  hashInApplicationOf,
  hashOf,
  isAct,
  isActOfOperator,
  isActOfSomebody,
  isFoundByResource,
  isFrequentAction,
  isOfConsole,
  isOperatorAct,
  NO_APPLICATION,
  shortHashOf,
} from '../../database/schema/audit-schema.ts';
import { p, type RowOfType, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { invalidField } from '../core/errors.ts';
import { check, optional, text, timestamp, type Unchecked, UUID, uuid } from '../core/validation.ts';
import {
  createList,
  type Page,
  type PageParameters,
  type PageScope,
  type PageTokens,
  pageRules,
  readPage,
  selectPage,
} from '../pages/list.ts';

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

const rules = {
  applicationId: optional(uuid),
  resource: optional(filter),
  actor: optional(filter),
  action: optional(filter),
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

type Request = Unchecked<keyof typeof rules | keyof typeof pageRules | 'person'>;

/**
 * Returns a page of the audit log, of one application or of all. With an actor, the page omits sign-ins, sign-outs and
 * check-ins, and with a resource check-ins, because the indexes for these filters omit them. With the action of one of
 * these, a page looks through 500 events, and may be empty although there are more. With a person, it has what that
 * user has done on Usher's pages and, as an operator, in the console.
 */
export async function listAuditEvents(call: Call, tokens: PageTokens, request: Request): Promise<Page<AuditEvent>> {
  const { person, ...others } = request;
  if (person !== undefined) return listByPerson(call, tokens, { ...others, person });
  const isFrequent =
    typeof others.action === 'string' && isFrequentAction(others.action) && others.resource === undefined;
  if (!isFrequent) return listIndexed(call, tokens, others);
  return (others.applicationId === undefined ? listFrequent : listFrequentInApplication)(call, tokens, others);
}

const among = sql`${inTime}
  -- Equivalent: conjunct: without an application only, but each parameter needs a type
  and ${p.uuid('applicationId')} is null`;
const isAsked = sql`action = ${p.text('action')} and (${p.text('actor')} is null or actor = ${p.text('actor')})
  -- Equivalent: conjunct: without a resource only, but each parameter needs a type
  and ${p.text('resource')} is null`;

const listFrequent = createList('select_frequent_audit_events', {
  ...page,
  name: 'frequent-audit-events',
  rules,
  among,
  where: isAsked,
});

const listFrequentInApplication = createList('select_frequent_audit_events_in_application', {
  ...page,
  name: 'frequent-audit-events-in-application',
  rules,
  among: sql`${inTime} and application_id = ${p.uuid('applicationId')}`,
  where: isAsked,
});

/** Merges what the user has done on pages of Usher, where nobody is the actor, with what the operator has done. */
async function listByPerson(call: Call, tokens: PageTokens, request: Request): Promise<Page<AuditEvent>> {
  const fields = check(request, { person: uuid, ...rules, ...pageRules });
  const { pageSize, pageToken, person, ...filters } = fields;
  if (filters.actor !== null) throw invalidField('actor', 'must not be given together with person');
  const { resource, applicationId: application, action } = filters;
  // On pages, people act on themselves.
  const onPages =
    [null, person].includes(resource) && selectsOnPages.get(keyOf({ ...NO_FILTERS, application, action }));
  // There is one for each combination.
  const inConsole = selectsInConsole.get(keyOf({ ...NO_FILTERS, application, resource, action })) as Select;
  const scope = ['audit-events-by-person', person, ...Object.values(filters)] as PageScope;
  const select = async (position: PageParameters) => {
    const parts = await Promise.all([
      onPages ? call.run(onPages, { ...filters, resource: person, actor: '', ...position }) : [],
      call.run(inConsole, { ...filters, actor: person, ...position }),
    ]);
    return parts.flat().sort(compareNewestFirst).slice(0, position.limit);
  };
  return readPage(tokens, scope, { pageSize, pageToken }, select, ({ occurredAt, id }) => ({ at: occurredAt, id }));
}

function compareNewestFirst(one: AuditEvent, other: AuditEvent): number {
  // Equivalent: comparison: no two events have the same ID
  return other.occurredAt.getTime() - one.occurredAt.getTime() || (one.id < other.id ? 1 : -1);
}

const listIndexed = createList('select_audit_events', {
  ...page,
  where: inTime,
  name: 'audit-events',
  rules,
  async find({ applicationId, ...filters }, { run }: Call) {
    const { actor } = filters;
    // Equivalent: condition: null is the ID of no key
    const isOfKey = applicationId !== null && actor !== null && UUID.test(actor);
    // Equivalent: choice: another index finds the same
    const [key] = isOfKey ? await run(selectKeyOfApplication, { applicationId, actor }) : [];
    // Equivalent: choice: all that an API key does is in its application, so that the index by its ID is enough
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
  if (filters.includes('resource')) return [isFoundByResource, ...conditionsFoundBy('resource', filters)];
  const ofApplication = filters.includes('application');
  const others = filters.filter((filter) => filter !== 'application');
  const isGiven = others.map(isFilter);
  if (ofApplication) isGiven.push(sql`${applicationId} = ${p.uuid('applicationId')}`);
  if (others.length === 0) return isGiven;
  // Equivalent: choice: the index is another one, and what it finds the same
  const hash = ofApplication ? hashInApplicationOf : hashOf;
  // Equivalent: choice: the index is another one, and what it finds the same
  const among = others[0] === 'action' ? isAct : ofApplication ? isActOfOperator : isActOfSomebody;
  const [ofColumns, ofGiven] = [others.map((filter) => columns[filter]), others.map((filter) => p.text(filter))];
  return [among, sql`${hash(...ofColumns)} = ${hash(...ofGiven)}`, ...isGiven];
}

/** The same for an index by the hash of one filter, in which short hashes of the others stand. */
function conditionsFoundBy(first: 'actor' | 'resource', filters: readonly Filter[]): SQL[] {
  // Equivalent: method: the first one would be compared again
  const others = filters.filter((filter) => filter !== first);
  const areOthers = others.map((filter) => {
    const { column, given } = comparisonOf(filter);
    return sql`${shortHashOf(column)} = ${shortHashOf(given)}`;
  });
  return [sql`${hashOf(columns[first])} = ${hashOf(p.text(first))}`, ...areOthers, ...[first, ...others].map(isFilter)];
}

function isFilter(filter: Filter): SQL {
  const { column, given } = comparisonOf(filter);
  // Equivalent: argument: no column is null
  return sql`coalesce(${column} = ${given}, false)`;
}

/** The application is compared as a text: the primary key begins with the application. */
function comparisonOf(filter: Filter): { readonly column: SQL; readonly given: SQL } {
  return filter === 'application'
    ? { column: sql`${applicationId}::text`, given: sql`${p.uuid('applicationId')}::text` }
    : { column: sql`${columns[filter]}`, given: p.text(filter) };
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

const NO_FILTERS = { application: null, resource: null, actor: null, action: null };

/** What people have done on pages of Usher, by the filters beside the person, who is the resource. */
const selectsOnPages = new Map(
  [[], ...combine(['application', 'action'])].map((filters) => {
    const given = FILTERS.filter((filter) => ['resource', 'actor', ...filters].includes(filter));
    const conditions = [inTime, sql`actor_type = 'login_page'`, ...conditionsOf(given)];
    const name = ['select_audit_events_on_pages', ...filters].join('_');
    return [filters.join('_'), selectPage(name, { ...page, where: sql.join(conditions, sql` and `) })];
  }),
);

type Select = NonNullable<ReturnType<(typeof selectsInConsole)['get']>>;

/** What operators have done in the console, by the filters beside the operator, who is the actor. */
const selectsInConsole = new Map(
  [[], ...combine(['application', 'resource', 'action'])].map((filters) => {
    const conditions = [inTime, isOfConsole, ...conditionsFoundBy('actor', ['actor', ...filters])];
    const name = ['select_audit_events_in_console', ...filters].join('_');
    return [filters.join('_'), selectPage(name, { ...page, where: sql.join(conditions, sql` and `) })];
  }),
);

/** Returns every non-empty subset. Its filters keep their order. */
function combine([first, ...rest]: readonly Filter[]): Filter[][] {
  if (first === undefined) return [];
  const others = combine(rest);
  return [[first], ...others.map((set) => [first, ...set]), ...others];
}
