/** A list of audit events by day: who did what on what, by name. A row opens to the IDs behind the names. */
import { NO_APPLICATION } from '../../../database/schema/audit-schema.ts';
import type { AuditEvent } from '../../../domain/audit/list-audit-events.ts';
import { OWN_APPLICATION_IDS } from '../../../domain/core/own-applications.ts';
import { UUID } from '../../../domain/core/validation.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { describeAction, type Named } from './action-texts.ts';
import { renderDate, renderMoment, renderTimeOfDay } from './moment.ts';
import { type Name, type Names, readNames, renderNameOf } from './names.ts';
import { renderFacts, renderId } from './panel.ts';

interface ListOptions {
  /** The text of a list without events. */
  readonly empty: string;
  /** The level of the headings of days. */
  readonly level: 2 | 3;
  /** Whether the page is about the resource, which the rows then do not name. */
  readonly isOfResource?: boolean;
}

/** Renders the events. One statement reads the names of all. */
export async function renderAuditList(
  { call }: Pick<ConsoleRequest, 'call'>,
  events: readonly AuditEvent[],
  { empty, level, isOfResource = false }: ListOptions,
): Promise<Html> {
  if (events.length === 0) return html`<div class="empty"><p>${empty}</p></div>`;
  const names = await readNames(call, idsOf(events));
  const days = Map.groupBy(events, ({ occurredAt }) => occurredAt.toISOString().slice(0, 10));
  return html`<div class="log">${[...days].map(([day, ofDay]) => {
    const date = renderDate(new Date(day));
    return html`${level === 2 ? html`<h2>${date}</h2>` : html`<h3>${date}</h3>`}
<ul class="plain">
${ofDay.map((event) => renderEvent(event, names, isOfResource))}</ul>
`;
  })}</div>`;
}

/** The kinds of actors whose ID has a name. */
const ACTOR_KINDS: Readonly<Record<string, Named>> = { console: 'user', api_key: 'key' };

function idsOf(events: readonly AuditEvent[]): Record<Named, Set<string>> {
  const ids = {
    user: new Set<string>(),
    application: new Set<string>(),
    key: new Set<string>(),
    webhook: new Set<string>(),
    group: new Set<string>(),
  };
  const add = (kind: Named, id: string) => {
    if (kind === 'webhook' || UUID.test(id)) ids[kind].add(id);
  };
  for (const { actorType, actor, action, resource, applicationId } of events) {
    const actorKind = ACTOR_KINDS[actorType];
    if (actorKind) add(actorKind, actor);
    const [, kind] = describeAction(action);
    if (kind === 'any') for (const each of ['user', 'application', 'key', 'group'] as const) add(each, resource);
    else if (kind !== 'text' && kind !== 'passkey') add(kind, resource);
    if (applicationId !== NO_APPLICATION && !OWN_APPLICATION_IDS.includes(applicationId))
      add('application', applicationId);
  }
  return ids;
}

function renderEvent(event: AuditEvent, names: Names, isOfResource: boolean): Html {
  const { occurredAt, action, applicationId } = event;
  const [text] = describeAction(action);
  const object = !isOfResource && !isByResource(event) && event.resource !== '' && renderObject(event, names);
  const where = isOwn(applicationId)
    ? html`Usher`
    : ![NO_APPLICATION, event.resource].includes(applicationId) && renderNameOf(names, applicationId);
  return html`<li><details><summary>${renderTimeOfDay(occurredAt)}<span class="line"><strong>${renderWho(event, names)}</strong> <span>${isolate(text)}</span> ${object && html`<span class="object">${object}</span>`} ${where && html`<span class="soft">${where}</span>`}</span></summary>
${renderFacts([
  ['When (UTC)', renderMoment(occurredAt)],
  ['Who', renderActor(event, names)],
  ['What', renderWhat(event)],
  ['On behalf', event.onBehalfBy !== null && isolate(`by ${event.onBehalfBy}`)],
  ['On what', event.resource !== '' && renderResource(event, names)],
  [
    'Application',
    where &&
      html`${isOwn(applicationId) ? where : html`<a href="/applications/${applicationId}">${where}</a>`} · ${renderId(applicationId)}`,
  ],
  ['From', event.ipAddress !== '' && html`<code>${isolate(event.ipAddress)}</code>`],
  ['Request', event.requestId !== '' && renderId(event.requestId)],
])}</details></li>
`;
}

const isOwn = (applicationId: string) => OWN_APPLICATION_IDS.includes(applicationId);

/** People at the login page act on themselves, as operators do who sign in. */
function isByResource({ actorType, actor, action, resource }: AuditEvent): boolean {
  return actor === resource || (actorType === 'login_page' && describeAction(action)[1] === 'user');
}

const ACTORS: Readonly<Record<string, string>> = {
  console: 'The console',
  usher: 'Usher',
  login_page: 'Somebody',
  api_key: 'A key',
  admin_key: 'An admin key',
  file: 'A file',
};

function renderWho(event: AuditEvent, names: Names): Html {
  const { actorType, actor, resource, applicationId } = event;
  if (actorType === 'login_page' && isByResource(event)) return renderNameOf(names, resource);
  if (actor === '') return html`${ACTORS[actorType] ?? actorType}`;
  if (actorType === 'admin_key') return html`Admin key ${isolate(actor)}`;
  if (actorType === 'file') return html`The file ${isolate(actor)}`;
  if (actorType !== 'api_key') return renderNameOf(names, actor);
  // A key needs no name: then its application has one.
  return names.get(actor)?.name === '' ? renderNameOf(names, applicationId) : html`Key ${renderNameOf(names, actor)}`;
}

function renderActor(event: AuditEvent, names: Names): Html {
  const { actorType, actor } = event;
  if (actor === '') return html`${actorType === 'login_page' ? 'At the login page' : (ACTORS[actorType] ?? actorType)}`;
  const all = html`<a href="/audit?${new URLSearchParams({ actor }).toString()}">Everything by this actor</a>`;
  return html`${renderWho(event, names)}${renderEmail(actorType, names.get(actor))} · ${renderId(actor)} · ${all}`;
}

function renderEmail(actorType: string, name: Name | undefined): Html | false {
  return actorType === 'console' && name !== undefined && name.detail !== name.name && html` · ${isolate(name.detail)}`;
}

function renderWhat({ action }: AuditEvent): Html {
  return html`<code>${isolate(action)}</code> · <a href="/audit?${new URLSearchParams({ action }).toString()}">Every one of these</a>`;
}

const CHECK_INS = ['EventService/CheckIn', 'EventService/UndoCheckIn'];

/** Links the resource to the search, which recognizes IDs by their format. It cannot find attendees. */
function renderResource(event: AuditEvent, names: Names): Html {
  const { action, resource } = event;
  const named = names.has(resource) && html`${renderObject(event, names)} · `;
  const search = html` · <a href="/search?${new URLSearchParams({ q: resource }).toString()}">Open</a>`;
  return html`${named}${renderId(resource)}${!CHECK_INS.includes(action) && search}`;
}

function renderObject({ action, resource }: AuditEvent, names: Names): Html {
  return describeAction(action)[1] === 'text' ? isolate(resource) : renderNameOf(names, resource);
}
