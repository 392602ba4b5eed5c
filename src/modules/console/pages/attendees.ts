/** The list of an event: who is on it, who is blocked, a search, and new attendees from pasted lines. */
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { MAX_CHANGED_ATTENDEES } from '../../../domain/events/attendee.ts';
import { getEvent } from '../../../domain/events/get-event.ts';
import { listAttendees } from '../../../domain/events/list-attendees.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication, perform } from '../console-request.ts';
import { type AttendeeLine, readAttendeeLines } from '../parts/attendee-lines.ts';
import { createAction, renderField, renderForm, renderProblem } from '../parts/form.ts';
import {
  actionsColumn,
  column,
  JOINED_PAGE_SIZE,
  pageFields,
  readFilter,
  renderFilters,
  renderPager,
  renderRows,
  wideColumn,
} from '../parts/list.ts';
import { renderMoment } from '../parts/moment.ts';
import { renderLinkButton, renderNote } from '../parts/panel.ts';
import type { ConsolePage, ConsoleRoute, Reply } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';
import { type FoundAttendee, findAttendees, MAX_FOUND } from '../statements/events.ts';
import { pathOfEvent, renderEventHeader } from './events.ts';

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

/** Names and IDs that are shown before they are stored. */
const SHOWN_LINES = 100;

const NOTE = html`One per line: attendee ID, then a comma, semicolon or tab, then the name that the scanner shows. Lines of a spreadsheet can be pasted as they are, also with their heading. Up to 64 KiB at a time; for more, use <code>BatchPutAttendees</code>.`;

export async function showImport(request: ConsoleRequest): Promise<ConsolePage> {
  await getEvent(await inApplication(request), { eventId: request.params.e });
  return renderImport(
    request,
    html`${renderProblem(request)}
${renderField(request, { name: 'lines', label: 'Attendees', rows: 12, isRequired: true, note: NOTE })}
<div class="actions"><button>Check the list</button><a class="button second" href="${pathOfEvent(request)}/attendees">Back</a></div>`,
  );
}

function renderImport(request: ConsoleRequest, content: Html): ConsolePage {
  return {
    title: 'Add attendees',
    section: 'applications',
    body: html`<h1>Add attendees</h1>
${renderForm(`${pathOfEvent(request)}/attendees/import`, content, 'fields tight')}`,
  };
}

export async function importByForm(request: ConsoleRequest): Promise<Reply> {
  const { form, params } = request;
  await getEvent(await inApplication(request), { eventId: params.e });
  const isConfirmed = form.has('confirmed');
  // What is confirmed was checked before, and has no heading any more.
  const { heading, lines } = readAttendeeLines(form.get('lines') ?? '', { mayHaveHeading: !isConfirmed });
  const accepted = lines.filter(({ problem }) => !problem);
  if (!isConfirmed || accepted.length === 0) return renderCheck(request, lines, heading);
  const attendees = accepted.map(({ attendeeId, label }) => ({ attendeeId, label }));
  for (let at = 0; at < attendees.length; at += MAX_CHANGED_ATTENDEES) {
    const batch = attendees.slice(at, at + MAX_CHANGED_ATTENDEES);
    await perform(request, EventService.method.batchPutAttendees, { eventId: params.e, attendees: batch });
  }
  return { redirect: `${pathOfEvent(request)}/attendees?done=added` };
}

/** Shows what would be stored, and which lines are refused and why. */
function renderCheck(request: ConsoleRequest, lines: readonly AttendeeLine[], heading?: AttendeeLine): ConsolePage {
  const accepted = lines.filter(({ problem }) => !problem);
  const refused = lines.filter(({ problem }) => problem);
  const back = html`<a class="button second" href="${pathOfEvent(request)}/attendees/import">Back</a>`;
  return renderImport(
    request,
    html`${refused.length > 0 && renderRefused(refused)}
<h2 id="accepted">${describe(accepted.length)} to add</h2>
${heading && html`<p>Line ${String(heading.number)} is a heading and is left out: <q>${isolate(heading.text)}</q></p>`}
<p class="small soft">Whoever is on the list already gets the new name, and is not blocked any more.</p>
${renderRows({ labelledBy: 'accepted', columns: ACCEPTED_COLUMNS, rows: accepted.slice(0, SHOWN_LINES), empty: 'No line can be added.' })}
${accepted.length > SHOWN_LINES && html`<p class="small soft">And ${describe(accepted.length - SHOWN_LINES)} more.</p>`}
<input type="hidden" name="lines" value="${accepted.map(({ attendeeId, label }) => `${quote(attendeeId)}\t${quote(label)}`).join('\n')}">
<input type="hidden" name="confirmed" value="on">
<div class="actions">${accepted.length > 0 && html`<button>Add ${describe(accepted.length)}</button>`}${back}</div>`,
  );
}

function renderRefused(refused: readonly AttendeeLine[]): Html {
  return html`<div class="alert warn" role="status" tabindex="-1"><p>${describe(refused.length, 'line')} cannot be added:</p></div>
<h2 class="hide" id="refused">Refused</h2>
${renderRows({ labelledBy: 'refused', columns: REFUSED_COLUMNS, rows: refused.slice(0, SHOWN_LINES), empty: '' })}`;
}

const describe = (count: number, noun = 'attendee') => `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
/** Quotes nothing without need, so that the list is no longer than what was pasted. */
const quote = (text: string) => (text.startsWith('"') ? `"${text.replaceAll('"', '""')}"` : text);

const ACCEPTED_COLUMNS = [
  column('Attendee', ({ attendeeId }: AttendeeLine) => isolate(attendeeId)),
  column('Name', ({ label }: AttendeeLine) => (label === '' ? '–' : isolate(label))),
];

const REFUSED_COLUMNS = [
  column('Line', ({ number }: AttendeeLine) => String(number)),
  column('Text', ({ text }: AttendeeLine) => isolate(text)),
  column('Why', ({ problem }: AttendeeLine) => isolate(problem ?? '')),
];
