import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import { auditEvents, isAct, isFrequentAction, NO_APPLICATION } from '../../database/audit-schema.ts';
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
const ofApplication = sql`application_id = ${p.uuid('applicationId')}`;
const ofResource = sql`resource = ${p.text('resource')} and ${isAct}`;
const ofActor = sql`actor = ${p.text('actor')} and ${isAct}`;
const ofAction = sql`action = ${p.text('action')} and ${isAct}`;

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
  find: ({ applicationId, resource, actor, action }) => {
    const isOfOne = applicationId !== null;
    if (resource !== null) return isOfOne ? selectByResourceInApplication : selectByResource;
    if (actor !== null) return isOfOne ? selectByActorInApplication : selectByActor;
    if (action !== null) return isOfOne ? selectByActionInApplication : selectByAction;
    return isOfOne ? selectOfApplication : undefined;
  },
});

/** Returns the parts of a page: the first condition is served by an index, the others select among its rows. */
function pageOf(first: SQL, ...others: readonly SQL[]) {
  return { ...page, where: sql.join([first, inTime, ...others], sql` and `) };
}
const alsoActor = sql`(${p.text('actor')} is null or actor = ${p.text('actor')})`;
const alsoAction = sql`(${p.text('action')} is null or action = ${p.text('action')})`;

const selectOfApplication = selectPage('select_audit_events_of_application', pageOf(ofApplication));
const selectByResource = selectPage('select_audit_events_by_resource', pageOf(ofResource, alsoActor, alsoAction));
const selectByActor = selectPage('select_audit_events_by_actor', pageOf(ofActor, alsoAction));
const selectByAction = selectPage('select_audit_events_by_action', pageOf(ofAction));
// On Citus these ask one shard.
const selectByResourceInApplication = selectPage(
  'select_audit_events_of_application_by_resource',
  pageOf(ofResource, alsoActor, alsoAction, ofApplication),
);
const selectByActorInApplication = selectPage(
  'select_audit_events_of_application_by_actor',
  pageOf(ofActor, alsoAction, ofApplication),
);
const selectByActionInApplication = selectPage(
  'select_audit_events_of_application_by_action',
  pageOf(ofAction, ofApplication),
);
