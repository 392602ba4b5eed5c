/** The form for the name and the rules of an event. */
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import type { Event } from '../../../domain/events/event.ts';
import { getEvent } from '../../../domain/events/get-event.ts';
import { readEventVersion } from '../../../domain/events/update-event.ts';
import { html } from '../../../http/html.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { pathOfEvent } from '../parts/event-header.ts';
import { renderCheck, renderField, renderProblem, textOrNull } from '../parts/field.ts';
import { renderForm, renderVersion } from '../parts/form.ts';
import { INSTANT_EXAMPLE, parseInstant } from '../parts/moment.ts';
import type { ConsolePage } from '../route.ts';

const FIELDS = ['name', 'startsAt', 'endsAt', 'capacity'];

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
  html`${renderProblem(request, FIELDS)}
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
