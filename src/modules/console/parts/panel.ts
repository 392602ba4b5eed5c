/** Panels, facts, links and buttons, and how addresses, browsers and IDs are shown. */
import { isOwnMethod, OWN_METHODS } from '../../../config/login-methods.ts';
import { type Html, html } from '../../../http/html.ts';
import { describeBrowser } from '../../../login-page/pages/describe-sign-in.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { renderForm } from './form.ts';

/** Renders a panel with a heading, and optionally with a button or link beside it. */
export function renderPanel(
  id: string,
  title: string,
  content: Html,
  button?: Html | false,
  className = 'panel',
): Html {
  return html`<section class="${className}" aria-labelledby="${id}">
<header class="bar"><h2 id="${id}">${title}</h2>${button}</header>
${content}
</section>`;
}

/** Says whether a file declares the application or group, or did. */
export function renderDeclared(kind: 'application' | 'group', declaredByFile: boolean | null): Html | false {
  if (declaredByFile === null) return false;
  if (declaredByFile) return html`<p class="small">This ${kind} is declared in a file.</p>\n`;
  return html`<p><span class="tag warn">no longer in the file</span></p>\n`;
}

/** Renders names with their values. Leaves out names without a value. */
export function renderFacts(
  facts: readonly (readonly [name: string, value: Html | string | false | undefined])[],
): Html {
  const given = facts.filter(([, value]) => value !== undefined && value !== false);
  return html`<dl class="facts">${given.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>\n`)}</dl>`;
}

/** Renders a button that sends its form without a question. `about` names the object for screen readers. */
export function renderActionButton(path: string, label: string, kind = 'second', about?: Html | string): Html {
  return renderForm(
    path,
    html`<button class="${kind}">${label}${about && html`<span class="hide"> ${about}</span>`}</button>`,
  );
}

/** Renders a link that looks like a button, to a page with a form. */
export function renderLinkButton(path: string, label: string, kind = 'second'): Html {
  return html`<a class="button ${kind}" href="${path}">${label}</a>`;
}

const NOTES: Readonly<Record<string, string>> = {
  created: 'Created.',
  saved: 'Saved.',
  deleted: 'Deleted.',
  erased: 'Erased.',
  ended: 'The sessions have ended.',
  clientEnded: 'The client has no access any more.',
  deactivated: 'Deactivated. Every session has ended.',
  reactivated: 'Active again.',
  added: 'Added.',
  removed: 'Removed.',
  'let-in': 'May sign in now. No e-mail was sent.',
  'let-out': 'No longer let in by name. The sessions there have ended.',
  'way-removed': 'Removed. Sessions that began with it live on.',
  invited: 'Invited.',
  withdrawn: 'The invitation is revoked.',
  revoked: 'The key no longer works.',
  linkRevoked: 'The link no longer works.',
  redelivered: 'The redelivery has started. Reload the page to see the answer.',
  tested: 'A test message is on its way. Reload the page to see the answer.',
  'checked-in': 'Checked in.',
  undone: 'The check-in is undone.',
};

/** Renders the result of the form that redirected here, which the parameter `done` names. */
export function renderNote({ query }: ConsoleRequest): Html | false {
  const text = NOTES[query.get('done') ?? ''];
  return text !== undefined && html`<p class="alert note" role="status" tabindex="-1">${text}</p>`;
}

/** Renders breadcrumbs: links to the pages above this one. */
export function renderBreadcrumbs(...links: readonly (readonly [path: string, label: Html | string])[]): Html {
  return html`<p class="small breadcrumbs">${links.map(([path, label], index) => html`${index > 0 && ' / '}<a href="${path}">${label}</a>`)}</p>`;
}

export function renderWallet(address: string): Html {
  if (address === '') return html`–`;
  const text = address.length > 14 ? `${address.slice(0, 6)}…${address.slice(-4)}` : address;
  return html`<code title="${address}">${isolate(text)}</code>`;
}

/** Renders the browser and the system of a user agent. The title has the whole text. */
export function renderBrowser(userAgent: string): Html {
  return html`<span title="${userAgent}">${isolate(describeBrowser(userAgent) || '–')}</span>`;
}

/** Renders how somebody signed in. A provider that was removed is named by its ID. */
export function renderMethodLabel({ providers }: Pick<ConsoleRequest['parts'], 'providers'>, method: string): Html {
  return isOwnMethod(method) ? html`${OWN_METHODS[method]}` : isolate(providers.nameOf(method) || method);
}

/** Renders an ID in full, with a button that copies it. */
export function renderId(id: string): Html {
  return renderCopied(id, html`<code>${isolate(id)}</code>`);
}

/** Renders `shown` with a button that copies the text. The button is hidden without JavaScript, which it needs. */
export function renderCopied(text: string, shown: Html): Html {
  return html`${shown} <button type="button" class="quiet copy" data-copy="${text}" hidden>Copy<span class="hide"> ${isolate(text)}</span></button>`;
}
