/** The page of an event: who comes, its rules, and its end. */
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import { CHECK_IN_EXPORTS } from '../../../api/operations/export-check-ins.ts';
import { getEvent } from '../../../domain/events/get-event.ts';
import { listCheckIns } from '../../../domain/events/list-check-ins.ts';
import { readIsoInstant } from '../../../encoding/instants.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication, perform } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderConfirmation, requireName } from '../parts/confirmation.ts';
import { renderDoorFigures } from '../parts/door-figures.ts';
import { pathOfEvent, renderEventHeader, renderRules } from '../parts/event-header.ts';
import { renderField, renderProblem } from '../parts/field.ts';
import { renderForm } from '../parts/form.ts';
import { renderMoment } from '../parts/moment.ts';
import { pageFields, renderPager } from '../parts/pager.ts';
import { renderNote } from '../parts/panel.ts';
import { actionsColumn, column, renderRows, wideColumn } from '../parts/table.ts';
import type { ConsolePage, Reply } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { readDoorFigures } from '../statements/read-door-figures.ts';

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
${renderRows({ labelledBy: 'came', columns: isSupport ? [...COLUMNS, undo] : COLUMNS, rows, empty: 'Nobody has come yet.' })}
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
      listCheckIns(call, parts.pageTokens, { eventId: params.e, pageSize: 100, pageToken });
    await parts.exporter.send(context, { ...CHECK_IN_EXPORTS[format], readPage });
    return 'sent';
  };

const COLUMNS = [
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
