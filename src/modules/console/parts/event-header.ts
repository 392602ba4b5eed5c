/** What the pages of an event have in common: its names, its rules, and the tabs. */
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import type { Event } from '../../../domain/events/event.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { includesRole } from '../signed-in-operator.ts';
import { renderMoment } from './moment.ts';
import { renderBreadcrumbs, renderFacts, renderLinkButton } from './panel.ts';
import { renderId } from './people.ts';

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
export function renderRules({ startsAt, endsAt, capacity, admission }: Event): Html | false {
  if (!startsAt && !endsAt && capacity === null && admission !== 'LISTED') return false;
  return html`<div class="panel">${renderFacts([
    ['Check-ins from', startsAt !== null && html`${renderMoment(startsAt)} UTC`],
    ['Until', endsAt !== null && html`${renderMoment(endsAt)} UTC`],
    ['Capacity', capacity?.toLocaleString('en')],
    ['Lets in', admission === 'LISTED' && 'only attendees on the list'],
  ])}</div>`;
}
