/** The list of an event: who is on it, who is blocked, and a search. */
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { getEvent } from '../../../domain/events/get-event.ts';
import { listAttendees } from '../../../domain/events/list-attendees.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication, perform } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { pathOfEvent, renderEventHeader } from '../parts/event-header.ts';
import { renderProblem } from '../parts/field.ts';
import { readFilter, renderFilters } from '../parts/filters.ts';
import { renderForm } from '../parts/form.ts';
import { renderMoment } from '../parts/moment.ts';
import { JOINED_PAGE_SIZE, pageFields, renderPager } from '../parts/pager.ts';
import { renderLinkButton, renderNote } from '../parts/panel.ts';
import { actionsColumn, column, renderRows, wideColumn } from '../parts/table.ts';
import type { ConsolePage, ConsoleRoute } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { type FoundAttendee, findAttendees, MAX_FOUND } from '../statements/find-attendees.ts';

type Attendee = Omit<FoundAttendee, 'version' | 'isDeleted'>;

const FILTERS = [{ name: 'q', label: 'Attendee ID, or the beginning of a name' }] as const;

export async function showAttendees(request: ConsoleRequest): Promise<ConsolePage> {
  const { operator, params, query } = request;
  const call = await inApplication(request);
  const event = await getEvent(call, { eventId: params.e });
  const path = `${pathOfEvent(request)}/attendees`;
  const { rows, nextPageToken, isCut } = await readRows(request, call);
  const isAdmin = includesRole(operator.role, 'admin');
  const columns = includesRole(operator.role, 'support') ? [...COLUMNS, actions(path, isAdmin)] : COLUMNS;
  return {
    title: `Attendees of ${event.name ?? event.eventId}`,
    section: 'applications',
    body: html`${renderEventHeader(request, call.application, event, 'attendees')}
${renderNote(request)}
${renderProblem(request)}
<div class="bar"><h2 id="attendees">Attendees</h2>${isAdmin && html`<div class="tight">${renderLinkButton(`${path}/import`, 'Add attendees…')}</div>`}</div>
${renderFilters(query, FILTERS)}
${renderRows({ labelledBy: 'attendees', columns, rows, empty: readFilter(query, 'q') ? 'Nobody on the list matches.' : 'Nobody is on the list.' })}
${isCut && html`<p class="small soft">These are the first ${String(MAX_FOUND)}. Type more of the name.</p>`}
${renderPager(path, query, nextPageToken)}`,
  };
}

async function readRows({ params, parts, query }: ConsoleRequest, call: Awaited<ReturnType<typeof inApplication>>) {
  const text = readFilter(query, 'q');
  if (text) {
    const rows = await findAttendees(call, params.e ?? '', text);
    return { rows, nextPageToken: '', isCut: rows.length === MAX_FOUND };
  }
  const page = { eventId: params.e, ...pageFields(query, JOINED_PAGE_SIZE) };
  return { ...(await listAttendees(call, parts.pageTokens, page)), isCut: false };
}

const COLUMNS = [
  column('Attendee', ({ attendeeId }: Attendee) => isolate(attendeeId)),
  column('Name', ({ label }: Attendee) => (label === '' ? '–' : isolate(label))),
  column('State', ({ isBlocked, checkedInAt }: Attendee) => renderState(isBlocked, checkedInAt)),
  wideColumn('Changed (UTC)', ({ changedAt }: Attendee) => renderMoment(changedAt)),
];

function renderState(isBlocked: boolean, checkedInAt: Date | null): Html {
  const came = checkedInAt !== null && html`Came ${renderMoment(checkedInAt)} `;
  if (!isBlocked) return came || html`–`;
  return html`${came}<span class="tag warn">Blocked</span>`;
}

function actions(path: string, isAdmin: boolean) {
  return actionsColumn(({ attendeeId, isBlocked, label }: Attendee) => {
    const name = isolate(label || attendeeId);
    const button = (action: string, text: string) =>
      renderForm(
        `${path}/${action}`,
        html`<input type="hidden" name="attendeeId" value="${attendeeId}"><button class="quiet">${text}<span class="hide"> ${name}</span></button>`,
      );
    return html`<div class="tight actions">${isBlocked ? button('unblock', 'Unblock') : button('block', 'Block')}${isAdmin && button('delete', 'Remove')}</div>`;
  });
}

const { batchPutAttendees, deleteAttendees } = EventService.method;

/** Returns a handler that blocks an attendee, or admits them again. The name stays as it is. */
function createBlock(isBlocked: boolean): ConsoleRoute['run'] {
  return async (request) => {
    const { form, params } = request;
    const attendeeId = form.get('attendeeId') ?? '';
    const found = await findAttendees(await inApplication(request), params.e ?? '', attendeeId);
    const attendee = found.find((each) => each.attendeeId === attendeeId);
    if (!attendee) throw new ServiceError('ATTENDEE_NOT_LISTED');
    const attendees = [{ attendeeId, label: attendee.label, isBlocked }];
    await perform(request, batchPutAttendees, { eventId: params.e, attendees });
    return { redirect: `${pathOfEvent(request)}/attendees?done=saved` };
  };
}

export const ATTENDEE_ACTIONS = {
  block: createBlock(true),
  unblock: createBlock(false),
  delete: createAction(
    deleteAttendees,
    ({ form, params }) => ({ eventId: params.e, attendeeIds: [form.get('attendeeId') ?? ''] }),
    (request) => `${pathOfEvent(request)}/attendees?done=removed`,
  ),
};
