/** Who was refused at the doors of an event, and why. */
import { ERRORS } from '../../../domain/core/errors.ts';
import { getEvent } from '../../../domain/events/get-event.ts';
import { html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, inApplication } from '../console-request.ts';
import { pathOfEvent, renderEventHeader } from '../parts/event-header.ts';
import { renderMoment } from '../parts/moment.ts';
import { pageFields, renderPager } from '../parts/pager.ts';
import { column, renderRows, wideColumn } from '../parts/table.ts';
import type { ConsolePage } from '../route.ts';
import { listRefusals } from '../statements/list-refusals.ts';

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
${renderRows({ labelledBy: 'refusals', columns: COLUMNS, rows, empty: 'Nobody was refused.' })}
${renderPager(`${pathOfEvent(request)}/refusals`, query, nextPageToken)}`,
  };
}

const COLUMNS = [
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
