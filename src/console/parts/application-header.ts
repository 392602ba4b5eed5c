import type { ApplicationDetails } from '../../domain/applications/application.ts';
import { type Html, html } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import { renderTrail } from './panel.ts';

export type ApplicationTab = 'settings' | 'keys' | 'users' | 'sessions' | 'webhooks' | 'events';

const TABS: readonly (readonly [tab: ApplicationTab, path: string, label: string])[] = [
  ['settings', '', 'Settings'],
  ['keys', '/keys', 'Keys'],
  ['users', '/users', 'Users'],
  ['sessions', '/sessions', 'Sessions'],
  ['webhooks', '/webhooks', 'Webhooks'],
  ['events', '/events', 'Events'],
];

/** Renders the name of an application, and the way to its pages. `title` is the heading where it is not that name. */
export function renderApplicationHeader(
  { id, name, clientId }: Pick<ApplicationDetails, 'id' | 'name' | 'clientId'>,
  current: ApplicationTab,
): Html {
  return html`${renderTrail(['/applications', 'Applications'])}
<div class="bar">
<div>
<h1>${isolate(name)}</h1>
<p class="soft small"><code>${isolate(clientId)}</code></p>
</div>
<nav class="tabs" aria-label="Application">${TABS.map(
    ([tab, path, label]) =>
      html`<a href="/applications/${id}${path}"${tab === current && html` aria-current="page"`}>${label}</a>`,
  )}</nav>
</div>`;
}
