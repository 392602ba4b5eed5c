/** The events of an application, the page of an event, and its form, refusals and end. */
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import { CHECK_IN_EXPORTS } from '../../../api/operations/export-check-ins.ts';
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { ERRORS } from '../../../domain/core/errors.ts';
import type { Event } from '../../../domain/events/event.ts';
import { getEvent } from '../../../domain/events/get-event.ts';
import { listCheckIns, listCheckInsToDownload } from '../../../domain/events/list-check-ins.ts';
import { listEvents } from '../../../domain/events/list-events.ts';
import { readEventVersion } from '../../../domain/events/update-event.ts';
import { readIsoInstant } from '../../../encoding/instants.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication, perform } from '../console-request.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import { renderDoorFigures } from '../parts/door-figures.ts';
import {
  createAction,
  renderCheck,
  renderConfirmation,
  renderField,
  renderForm,
  renderProblem,
  renderVersion,
  requireName,
  textOrNull,
} from '../parts/form.ts';
import { actionsColumn, column, pageFields, renderPager, renderRows, wideColumn } from '../parts/list.ts';
import { INSTANT_EXAMPLE, parseInstant, renderDay, renderMoment } from '../parts/moment.ts';
import { renderBreadcrumbs, renderFacts, renderId, renderLinkButton, renderNote } from '../parts/panel.ts';
import type { ConsolePage, Reply } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { listRefusals, readDoorFigures } from '../statements/events.ts';

const TABS = { 'check-ins': 'Check-ins', attendees: 'Attendees', refusals: 'Refusals' };

/** Any ID is a valid segment: browsers would drop `.` and `..`, but no event has these IDs. */
export function pathOfEvent({ params }: Pick<ConsoleRequest, 'params'>): string {
  return `/applications/${params.a}/events/${encodeURIComponent(params.e ?? '')}`;
}

export function renderEventHeader(
  request: ConsoleRequest,
  application: Pick<ApplicationDetails, 'id' | 'name'>,
  event: Event,
  current: keyof typeof TABS,
): Html {
  const path = pathOfEvent(request);
  const { eventId, name, createdAt } = event;
  const tabs = Object.entries(TABS).map(
    ([tab, label]) =>
      html`<a href="${path}${tab !== 'check-ins' && `/${tab}`}"${tab === current && html` aria-current="page"`}>${label}</a>`,
  );
  return html`${renderBreadcrumbs([`/applications/${application.id}`, isolate(application.name)], [`/applications/${application.id}/events`, 'Events'])}
<div class="bar">
<div><h1>${isolate(name ?? eventId)}</h1><p class="soft small">${renderId(eventId)} · created ${renderMoment(createdAt)}</p></div>
${includesRole(request.operator.role, 'admin') && html`<div class="tight actions">${renderLinkButton(`${path}/edit`, 'Edit…')}${renderLinkButton(`${path}/delete`, 'Delete…', 'danger')}</div>`}
</div>
<nav class="tabs" aria-label="Event">${tabs}</nav>`;
}

/** Renders the rules of an event. False if it has none. */
function renderRules({ startsAt, endsAt, capacity, admission }: Event): Html | false {
  if (!startsAt && !endsAt && capacity === null && admission !== 'LISTED') return false;
  return html`<div class="panel">${renderFacts([
    ['Check-ins from', startsAt !== null && html`${renderMoment(startsAt)} UTC`],
    ['Until', endsAt !== null && html`${renderMoment(endsAt)} UTC`],
    ['Capacity', capacity?.toLocaleString('en')],
    ['Lets in', admission === 'LISTED' && 'only attendees on the list'],
  ])}</div>`;
}

export async function showEvents(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, parts, query } = request;
  const call = await inApplication(request);
  const { application } = call;
  const path = `/applications/${application.id}/events`;
  const page = await listEvents(call, parts.pageTokens, pageFields(query));
  const columns = [
    column(
      'Event',
      ({ eventId, name }: Event) =>
        html`<a href="${path}/${encodeURIComponent(eventId)}">${isolate(name ?? eventId)}</a>`,
    ),
    wideColumn('Event ID', ({ eventId }: Event) => html`<code>${isolate(eventId)}</code>`),
    column('Created', ({ createdAt }: Event) => renderDay(createdAt)),
  ];
  const fields = html`${renderField(request, { name: 'eventId', label: 'Event ID', isRequired: true, note: 'It cannot be changed, or used again after a deletion.' })}
${renderField(request, { name: 'name', label: 'Name' })}`;
  const mayCreate = includesRole(operator.role, 'admin');
  return renderApplicationList(request, application, {
    tab: 'events',
    heading: 'Events',
    page,
    columns,
    empty: 'There are no events yet.',
    form: mayCreate && { title: 'Create an event', shown: ['eventId', 'name'], fields },
  });
}

export const createEventByForm = createAction(
  EventService.method.createEvent,
  ({ form }) => ({ eventId: form.get('eventId')?.trim() ?? '', name: textOrNull(form, 'name') ?? undefined }) as object,
  ({ form, params }) =>
    `/applications/${params.a}/events/${encodeURIComponent(form.get('eventId')?.trim() ?? '')}?done=created`,
);

type CheckedIn = Awaited<ReturnType<typeof listCheckIns>>['rows'][number];

export async function showEvent(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, params, parts, query } = request;
  const call = await inApplication(request);
  const event = await getEvent(call, { eventId: params.e });
  const path = pathOfEvent(request);
  const page = { eventId: params.e, ...pageFields(query) };
  const { rows, nextPageToken } = await listCheckIns(call, parts.pageTokens, page);
  const figures = await readDoorFigures(call, event.eventId);
  const isSupport = includesRole(operator.role, 'support');
  const undo = actionsColumn(({ attendeeId }: CheckedIn) =>
    renderForm(
      `${path}/check-ins/undo`,
      html`<input type="hidden" name="attendeeId" value="${attendeeId}"><button class="quiet">Undo<span class="hide"> the check-in of ${isolate(attendeeId)}</span></button>`,
    ),
  );
  return {
    title: event.name ?? event.eventId,
    section: 'applications',
    body: html`${renderEventHeader(request, call.application, event, 'check-ins')}
${renderNote(request)}
${renderAlready(query)}
${renderRules(event)}
${renderDoorFigures(`${path}/figures`, figures, event.capacity)}
${isSupport && renderCheckIn(request, path)}
<div class="bar"><h2 id="came">Check-ins</h2><p class="small">Download as <a href="${path}/check-ins.csv" download>CSV</a> or <a href="${path}/check-ins.jsonl" download>JSON lines</a></p></div>
${renderRows({ labelledBy: 'came', columns: isSupport ? [...CHECK_IN_COLUMNS, undo] : CHECK_IN_COLUMNS, rows, empty: 'Nobody has come yet.' })}
${renderPager(path, query, nextPageToken)}`,
  };
}

/** Shows the figures alone, which the script of the other page reads every few seconds. */
export async function showDoorFigures(request: ConsoleRequest): Promise<ConsolePage> {
  const call = await inApplication(request);
  const event = await getEvent(call, { eventId: request.params.e });
  const figures = await readDoorFigures(call, event.eventId);
  return {
    title: event.name ?? event.eventId,
    section: 'applications',
    body: html`${renderEventHeader(request, call.application, event, 'check-ins')}
${renderDoorFigures(`${pathOfEvent(request)}/figures`, figures, event.capacity)}`,
  };
}

export const exportCheckIns =
  (format: keyof typeof CHECK_IN_EXPORTS) =>
  async (request: ConsoleRequest): Promise<Reply> => {
    const { context, params, parts } = request;
    const call = await inApplication(request);
    const readPage = (pageToken: string) =>
      listCheckInsToDownload(call, parts.pageTokens, { eventId: params.e, pageSize: 100, pageToken });
    await parts.exporter.send(context, { ...CHECK_IN_EXPORTS[format], readPage });
    return 'sent';
  };

const CHECK_IN_COLUMNS = [
  column('Attendee', ({ attendeeId }: CheckedIn) => isolate(attendeeId)),
  column('When (UTC)', ({ checkedInAt }: CheckedIn) => renderMoment(checkedInAt)),
  wideColumn('Scanned (UTC)', ({ occurredAt }: CheckedIn) => renderMoment(occurredAt)),
  wideColumn('Gate', ({ gate }: CheckedIn) => (gate ? isolate(gate) : '–')),
];

function renderAlready(query: URLSearchParams): Html | false {
  const at = readIsoInstant(query.get('already') ?? '');
  return (
    at !== undefined &&
    html`<p class="alert warn" role="status" tabindex="-1">Already checked in at ${renderMoment(at)}</p>`
  );
}

function renderCheckIn(request: ConsoleRequest, path: string): Html {
  return renderForm(
    `${path}/check-ins`,
    html`${renderProblem(request, ['attendeeId'])}
${renderField(request, { name: 'attendeeId', label: 'Attendee ID', isRequired: true })}
<button>Check in</button>`,
    'find tight',
  );
}

export async function checkInByForm(request: ConsoleRequest): Promise<Reply> {
  const fields = { eventId: request.params.e, attendeeId: request.form.get('attendeeId')?.trim() ?? '' };
  const { alreadyCheckedIn, checkIn } = await perform(request, EventService.method.checkIn, fields);
  if (!alreadyCheckedIn) return { redirect: `${pathOfEvent(request)}?done=checked-in` };
  const at = new Date(Number(checkIn?.checkedInAt?.seconds ?? 0) * 1_000);
  return { redirect: `${pathOfEvent(request)}?${new URLSearchParams({ already: at.toISOString() })}` };
}

export async function showDeleteEvent(request: ConsoleRequest): Promise<ConsolePage> {
  const event = await getEvent(await inApplication(request), { eventId: request.params.e });
  return renderConfirmation(request, {
    title: 'Delete an event',
    section: 'applications',
    text: 'Nobody can check in any more. The ID cannot be used again. The list of attendees goes after 30 days.',
    name: event.eventId,
    submit: 'Delete',
    back: pathOfEvent(request),
  });
}

const { undoCheckIn, deleteEvent } = EventService.method;

export const undoCheckInByForm = createAction(
  undoCheckIn,
  ({ form, params }) => ({ eventId: params.e, attendeeId: form.get('attendeeId') ?? '' }),
  (request) => `${pathOfEvent(request)}?done=undone`,
);

export const deleteEventByForm = createAction(
  deleteEvent,
  (request) => {
    requireName(request, request.params.e ?? '');
    return { eventId: request.params.e };
  },
  ({ params }) => `/applications/${params.a}/events?done=deleted`,
);

const EVENT_FIELDS = ['name', 'startsAt', 'endsAt', 'capacity'];

export async function showEditEvent(request: ConsoleRequest): Promise<ConsolePage> {
  const call = await inApplication(request);
  const version = await readEventVersion(call, { eventId: request.params.e });
  const event = await getEvent(call, { eventId: request.params.e });
  const { name, startsAt, endsAt, capacity, admission } = event;
  const path = pathOfEvent(request);
  const note = `In UTC, such as ${INSTANT_EXAMPLE}`;
  return {
    title: 'Edit an event',
    section: 'applications',
    body: html`<h1>Edit an event</h1>
${renderForm(
  `${path}/edit`,
  html`${renderProblem(request, EVENT_FIELDS)}
${renderVersion(request, version)}
${renderField(request, { name: 'name', label: 'Name', value: name })}
${renderField(request, { name: 'startsAt', label: 'Check-ins from', value: describe(startsAt), note })}
${renderField(request, { name: 'endsAt', label: 'Until', value: describe(endsAt), note })}
${renderField(request, { name: 'capacity', label: 'Capacity', value: capacity === null ? '' : String(capacity), note: 'Check-ins that are there already stay.' })}
<fieldset class="check field"><legend>Admission</legend>
${renderCheck(request, { name: 'listed', label: 'Let in only attendees on the list', isChecked: admission === 'LISTED' })}</fieldset>
<div class="actions"><button>Save</button><a class="button second" href="${path}">Back</a></div>`,
  'fields tight sheet',
)}`,
  };
}

/** Describes an instant as `parseInstant` reads it, to the second. */
function describe(instant: Event['startsAt']): string {
  return instant ? instant.toISOString().slice(0, 19).replace('T', ' ') : '';
}

export const editEventByForm = createAction(
  EventService.method.updateEvent,
  ({ form, params }) => {
    const instant = (field: string) => {
      const typed = textOrNull(form, field);
      // The rule of the field says what is wrong with other texts.
      return typed && (parseInstant(typed) ?? typed);
    };
    const capacity = textOrNull(form, 'capacity');
    return {
      eventId: params.e,
      name: textOrNull(form, 'name'),
      startsAt: instant('startsAt'),
      endsAt: instant('endsAt'),
      capacity: capacity && Number(capacity.replaceAll(/[,\s]/g, '')),
      admission: form.has('listed') ? 'LISTED' : 'ANYONE',
    } as object;
  },
  (request) => `${pathOfEvent(request)}?done=saved`,
);

type Refusal = Awaited<ReturnType<typeof listRefusals>>['rows'][number];

export async function showRefusals(request: ConsoleRequest): Promise<ConsolePage> {
  const { params, parts, query } = request;
  const call = await inApplication(request);
  const event = await getEvent(call, { eventId: params.e });
  const page = { eventId: params.e, ...pageFields(query) };
  const { rows, nextPageToken } = await listRefusals(call, parts.pageTokens, page);
  return {
    title: `Refusals of ${event.name ?? event.eventId}`,
    section: 'applications',
    body: html`${renderEventHeader(request, call.application, event, 'refusals')}
<h2 id="refusals">Refusals</h2>
<p class="small soft">Scans with an ID, as scanners send them, for 14 days. Calls without a scan ID leave no trace when they are refused.</p>
${renderRows({ labelledBy: 'refusals', columns: REFUSAL_COLUMNS, rows, empty: 'Nobody was refused.' })}
${renderPager(`${pathOfEvent(request)}/refusals`, query, nextPageToken)}`,
  };
}

const REFUSAL_COLUMNS = [
  column('Attendee', ({ attendeeId }: Refusal) => isolate(attendeeId)),
  column('Why', ({ reason }: Refusal) => describeReason(reason ?? '')),
  column('Let in', ({ outcome }: Refusal) => (outcome === 'REFUSED' ? 'No' : 'Yes, by the door')),
  wideColumn('Gate', ({ gate }: Refusal) => (gate ? isolate(gate) : '–')),
  wideColumn('Scanned (UTC)', ({ occurredAt }: Refusal) => renderMoment(occurredAt)),
  column('Received (UTC)', ({ receivedAt }: Refusal) => renderMoment(receivedAt)),
];

/** A later version may have reasons that this one does not know. */
function describeReason(reason: string): string {
  return reason in ERRORS ? ERRORS[reason as keyof typeof ERRORS][1] : reason;
}
