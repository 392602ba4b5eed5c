import { MUTE_HOURS } from '../../domain/login/muted-addresses.ts';
import { type Html, html } from '../../http/html.ts';
import type { PageContent } from './document.ts';
import { renderAlert, renderFooter, renderHeading } from './parts.ts';
import type { PageView } from './view.ts';

export interface MuteView extends PageView {
  /** The path of this page in its public URL. */
  readonly path: string;
  readonly linkToken: string;
  readonly formToken: string;
  readonly now: Date;
  /** The instant until which no e-mails are sent, null if they are not stopped, undefined if the link is invalid. */
  readonly until: Date | null | undefined;
}

const HOUR_MS = 60 * 60_000;

/** Renders the button that stops e-mails, or the message that they are stopped with the button that ends this. */
export function renderMute(view: MuteView): PageContent {
  const { language, until } = view;
  const title = until ? 'mute.done.title' : 'mute.title';
  return {
    language,
    title: language.text(title),
    body: html`${renderHeading(language.html(title), until === undefined ? undefined : renderText(view))}
${renderAlert(until === undefined ? language.text('mute.invalid') : '')}
${until !== undefined && renderButton(view)}`,
    footer: renderFooter(view),
  };
}

function renderText({ language, until, now }: MuteView): Html {
  const hours = until ? Math.ceil((until.getTime() - now.getTime()) / HOUR_MS) : MUTE_HOURS;
  const values = { duration: language.duration(hours, 'hour') };
  return html`<p>${language.html(until ? 'mute.done.text' : 'mute.text', values)}</p>`;
}

function renderButton({ language, path, linkToken, formToken, until }: MuteView): Html {
  return html`<form method="post" action="${until ? `${path}/end` : path}">
<input type="hidden" name="t" value="${linkToken}"><input type="hidden" name="token" value="${formToken}">
<button>${language.text(until ? 'mute.end' : 'mute.submit')}</button>
</form>`;
}
