/** Adds attendees from pasted lines: first shows what each line comes to, then stores them. */
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import { MAX_CHANGED_ATTENDEES } from '../../../domain/events/attendee.ts';
import { getEvent } from '../../../domain/events/get-event.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication, perform } from '../console-request.ts';
import { type AttendeeLine, readAttendeeLines } from '../parts/attendee-lines.ts';
import { pathOfEvent } from '../parts/event-header.ts';
import { renderField, renderProblem } from '../parts/field.ts';
import { renderForm } from '../parts/form.ts';
import { column, renderRows } from '../parts/table.ts';
import type { ConsolePage, Reply } from '../route.ts';

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
${renderRows({ labelledBy: 'accepted', columns: COLUMNS, rows: accepted.slice(0, SHOWN_LINES), empty: 'No line can be added.' })}
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

const COLUMNS = [
  column('Attendee', ({ attendeeId }: AttendeeLine) => isolate(attendeeId)),
  column('Name', ({ label }: AttendeeLine) => (label === '' ? '–' : isolate(label))),
];

const REFUSED_COLUMNS = [
  column('Line', ({ number }: AttendeeLine) => String(number)),
  column('Text', ({ text }: AttendeeLine) => isolate(text)),
  column('Why', ({ problem }: AttendeeLine) => isolate(problem ?? '')),
];
