import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { renderBreadcrumbs } from './panel.ts';
import { renderId } from './people.ts';

/** The tabs of an application by the last segment of their paths. The settings have the path of the application itself. */
export const APPLICATION_TABS = {
  settings: 'Settings',
  keys: 'Keys',
  users: 'Users',
  groups: 'Groups',
  invitations: 'Invitations',
  sessions: 'Sessions',
  webhooks: 'Webhooks',
  events: 'Events',
} as const;

export type ApplicationTab = keyof typeof APPLICATION_TABS;

/** Renders the name of an application, and the tabs to its pages. */
export function renderApplicationHeader(
  { id, name, clientId }: Pick<ApplicationDetails, 'id' | 'name' | 'clientId'>,
  current: ApplicationTab,
): Html {
  return html`${renderBreadcrumbs(['/applications', 'Applications'])}
<div class="bar">
<div>
<h1>${isolate(name)}</h1>
<p class="soft small">${renderId(clientId)}</p>
</div>
<nav class="tabs" aria-label="Application">${Object.entries(APPLICATION_TABS).map(
    ([tab, label]) =>
      html`<a href="/applications/${id}${tab !== 'settings' && `/${tab}`}"${tab === current && html` aria-current="page"`}>${label}</a>`,
  )}</nav>
</div>`;
}
