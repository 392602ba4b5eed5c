/** The events of an application, and their check-ins. */
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import { CHECK_IN_EXPORTS } from '../../../api/operations/export-check-ins.ts';
import { countCheckIns, MAX_CHECK_INS_COUNTED } from '../../../domain/events/count-check-ins.ts';
import type { Event } from '../../../domain/events/event.ts';
import { getEvent } from '../../../domain/events/get-event.ts';
import { listCheckIns } from '../../../domain/events/list-check-ins.ts';
import { listEvents } from '../../../domain/events/list-events.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication, perform } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import { renderConfirmation, requireName } from '../parts/confirmation.ts';
import { renderField, renderProblem, textOrNull } from '../parts/field.ts';
import { renderForm } from '../parts/form.ts';
import { renderDay, renderMoment } from '../parts/moment.ts';
import { pageFields, renderPager } from '../parts/pager.ts';
import { renderBreadcrumbs, renderLinkButton, renderNote } from '../parts/panel.ts';
import { renderId } from '../parts/people.ts';
import { actionsColumn, column, renderRows, wideColumn } from '../parts/table.ts';
import type { ConsolePage, Reply } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

type CheckedIn = Awaited<ReturnType<typeof listCheckIns>>['rows'][number];

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

/** Any ID is a valid segment: browsers would drop `.` and `..`, but no event has these IDs. */
function pathOf({ params }: ConsoleRequest): string {
  return `/applications/${params.a}/events/${encodeURIComponent(params.e ?? '')}`;
}

export async function showEvent(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, params, parts, query } = request;
  const call = await inApplication(request);
  const { application } = call;
  const event = await getEvent(call, { eventId: params.e });
  const path = pathOf(request);
  const { rows, nextPageToken } = await listCheckIns(call, parts.pageTokens, {
    eventId: params.e,
    ...pageFields(query),
  });
  const count = await countCheckIns(call, event.eventId);
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
    body: html`${renderBreadcrumbs([`/applications/${application.id}`, isolate(application.name)], [`/applications/${application.id}/events`, 'Events'])}
<div class="bar">
<div><h1>${isolate(event.name ?? event.eventId)}</h1><p class="soft small">${renderId(event.eventId)} · created ${renderMoment(event.createdAt)}</p></div>
${includesRole(operator.role, 'admin') && html`<div class="tight">${renderLinkButton(`${path}/delete`, 'Delete…', 'danger')}</div>`}
</div>
${renderNote(request)}
${renderAlready(query)}
${isSupport && renderCheckIn(request, path)}
<div class="bar"><h2 id="came">Check-ins</h2><p class="small">${describeCount(count)} Download as <a href="${path}/check-ins.csv" download>CSV</a> or <a href="${path}/check-ins.jsonl" download>JSON lines</a></p></div>
${renderRows({ labelledBy: 'came', columns: isSupport ? [...CHECK_IN_COLUMNS, undo] : CHECK_IN_COLUMNS, rows, empty: 'Nobody has come yet.' })}
${renderPager(path, query, nextPageToken)}`,
  };
}

function describeCount(count: number): string {
  const number = count.toLocaleString('en');
  return count >= MAX_CHECK_INS_COUNTED
    ? `${number} or more have come.`
    : `${number} ${count === 1 ? 'has' : 'have'} come.`;
}

export const exportCheckIns =
  (format: keyof typeof CHECK_IN_EXPORTS) =>
  async (request: ConsoleRequest): Promise<Reply> => {
    const { context, params, parts } = request;
    const call = await inApplication(request);
    const readPage = (pageToken: string) =>
      listCheckIns(call, parts.pageTokens, { eventId: params.e, pageSize: 100, pageToken });
    await parts.exporter.send(context, { ...CHECK_IN_EXPORTS[format], readPage });
    return 'sent';
  };

const CHECK_IN_COLUMNS = [
  column('Attendee', ({ attendeeId }: CheckedIn) => isolate(attendeeId)),
  column('When (UTC)', ({ checkedInAt }: CheckedIn) => renderMoment(checkedInAt)),
];

function renderAlready(query: URLSearchParams): Html | false {
  const at = new Date(query.get('already') ?? '');
  return (
    !Number.isNaN(at.getTime()) &&
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
  if (!alreadyCheckedIn) return { redirect: `${pathOf(request)}?done=checked-in` };
  const at = new Date(Number(checkIn?.checkedInAt?.seconds ?? 0) * 1_000);
  return { redirect: `${pathOf(request)}?${new URLSearchParams({ already: at.toISOString() })}` };
}

export async function showDeleteEvent(request: ConsoleRequest): Promise<ConsolePage> {
  const event = await getEvent(await inApplication(request), { eventId: request.params.e });
  return renderConfirmation(request, {
    title: 'Delete an event',
    section: 'applications',
    text: 'Nobody can check in any more. The ID cannot be used again.',
    name: event.eventId,
    submit: 'Delete',
    back: pathOf(request),
  });
}

const { createEvent, undoCheckIn, deleteEvent } = EventService.method;

export const EVENT_ACTIONS = {
  create: createAction(
    createEvent,
    ({ form }) =>
      ({ eventId: form.get('eventId')?.trim() ?? '', name: textOrNull(form, 'name') ?? undefined }) as object,
    ({ form, params }) =>
      `/applications/${params.a}/events/${encodeURIComponent(form.get('eventId')?.trim() ?? '')}?done=created`,
  ),
  undo: createAction(
    undoCheckIn,
    ({ form, params }) => ({ eventId: params.e, attendeeId: form.get('attendeeId') ?? '' }),
    (request) => `${pathOf(request)}?done=undone`,
  ),
  delete: createAction(
    deleteEvent,
    (request) => {
      requireName(request, request.params.e ?? '');
      return { eventId: request.params.e };
    },
    ({ params }) => `/applications/${params.a}/events?done=deleted`,
  ),
};
