import { INTENT_LIFETIME_MS } from '../../domain/login/generate-auth-url.ts';
import { html, MARK, readScript } from '../../http/html.ts';
import type { Language, TextKey } from '../../texts/texts.ts';
import { renderWaysOn } from './branding.ts';
import type { PageContent } from './document.ts';
import { renderAlert, renderCancel, renderFooter, renderHeading, renderLogin, renderMark } from './parts.ts';
import type { FormView, PageView } from './view.ts';

const BACK_SCRIPT = readScript(new URL('../scripts/back.js', import.meta.url));

export type ErrorPage = keyof typeof ERROR_PAGES;

export const ERROR_PAGES = {
  unknown: { status: 404, title: 'error.unknown.title', text: 'error.unknown.text' },
  expired: { status: 410, title: 'error.expired.title', text: 'error.expired.text' },
  completed: { status: 409, title: 'error.completed.title', text: 'error.completed.text' },
  'no-cookie': { status: 403, title: 'error.noCookie.title', text: 'error.noCookie.text' },
  // The browser has got another cookie since the page was loaded.
  'stale-form': { status: 403, title: 'error.staleForm.title', text: 'error.staleForm.text' },
  unavailable: { status: 503, title: 'error.unavailable.title', text: 'error.unavailable.text' },
  'bad-request': { status: 400, title: 'error.badRequest.title', text: 'error.badRequest.text' },
  'not-found': { status: 404, title: 'error.notFound.title', text: 'error.notFound.text' },
  'wrong-path': { status: 404, title: 'error.notFound.title', text: 'error.wrongPath.text' },
  // Pages of OpenID Connect.
  'unknown-client': { status: 400, title: 'oidc.unknownClient.title', text: 'oidc.unknownClient.text' },
  'client-unavailable': { status: 502, title: 'oidc.clientUnavailable.title', text: 'oidc.clientUnavailable.text' },
  'unknown-redirect': { status: 400, title: 'oidc.unknownClient.title', text: 'oidc.unknownRedirect.text' },
  'too-many': { status: 429, title: 'oidc.tooMany.title', text: 'oidc.tooMany.text' },
  'too-many-codes': { status: 429, title: 'device.tooMany.title', text: 'device.tooMany.text' },
  'device-expired': { status: 410, title: 'device.expired.title', text: 'device.expired.text' },
  'signed-out': { status: 200, title: 'oidc.signedOut.title', text: 'oidc.signedOut.text' },
  'not-signed-out': { status: 200, title: 'oidc.notSignedOut.title', text: 'oidc.notSignedOut.text' },
} as const satisfies Record<string, { status: number; title: TextKey; text: TextKey }>;

/** Renders the page of a login or logout that cannot continue. @param requestId for people to quote */
export function renderError(kind: ErrorPage, view: PageView, requestId?: string): PageContent {
  const { language, application } = view;
  const id = html`<code dir="ltr">${requestId}</code>`;
  const isDone = kind === 'signed-out';
  const title = language.text(ERROR_PAGES[kind].title);
  return {
    language,
    application,
    title,
    body: html`${application ? renderMark({ application, applicationName: application.name }) : html`<span class="mark">${MARK}</span>`}
${renderHeading(html`${title}`, html`<p>${language.html(ERROR_PAGES[kind].text, valuesIn(language))}</p>`)}
${renderAlert()}
${renderWaysOn(view, { canRetry: kind === 'unavailable' || kind === 'too-many', canGoBack: !isDone })}
${requestId && !isDone && html`<p class="small soft">${language.html('error.request', { id })}</p>`}`,
    footer: renderFooter(view),
    scripts: [BACK_SCRIPT],
  };
}

/** Returns title and text of an error page as one text, for the scripts of pages. */
export function describeError(kind: ErrorPage, language: Language): string {
  const { title, text } = ERROR_PAGES[kind];
  return `${language.text(title)}${language.text('error.stop')}${language.text(text, valuesIn(language))}`;
}

function valuesIn(language: Language) {
  return { duration: language.duration(INTENT_LIFETIME_MS / 60_000, 'minute') };
}

/** Renders the page for a deactivated user who has entered the right code. */
export function renderClosed(view: FormView): PageContent {
  return renderEnd(view, 'closed.title', 'closed.text');
}

/** Renders the page for a user who has signed in, but whom nobody has let into the application. */
export function renderRefused(view: FormView): PageContent {
  return renderEnd(view, 'refused.title', 'refused.text');
}

function renderEnd(view: FormView, title: TextKey, text: TextKey): PageContent {
  const { language, path, application } = view;
  const values = { application: view.applicationName };
  const support = application?.supportUri ?? undefined;
  return {
    language,
    title: language.text(title, values),
    body: html`${renderMark(view)}
${renderHeading(language.html(title, values), html`<p>${language.html(text, values)}</p>`)}
${renderAlert()}
<div class="ways">
<form method="get" action="${path}">${renderLogin(view)}
<button>${language.text('continue.other')}</button>
</form>
${support && html`<a class="button second" href="${support}">${language.text('footer.help')}</a>`}
</div>
${renderCancel(view)}`,
    footer: renderFooter(view),
  };
}
