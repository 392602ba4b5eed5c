/** The events of an application. */
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import type { Event } from '../../../domain/events/event.ts';
import { listEvents } from '../../../domain/events/list-events.ts';
import { html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderApplicationList } from '../parts/application-list.ts';
import { renderField, textOrNull } from '../parts/field.ts';
import { renderDay } from '../parts/moment.ts';
import { pageFields } from '../parts/pager.ts';
import { column, wideColumn } from '../parts/table.ts';
import type { ConsolePage } from '../route.ts';
import { includesRole } from '../signed-in-operator.ts';

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
