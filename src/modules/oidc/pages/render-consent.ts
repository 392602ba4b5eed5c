import { hasScope } from '../../../domain/grants/scope.ts';
import { html } from '../../../http/html.ts';
import { renderQuery } from '../../../login-page/page-place.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderFooter } from '../../../login-page/pages/footer.ts';
import { renderHeading, renderMark } from '../../../login-page/pages/parts.ts';
import type { PageView } from '../../../login-page/pages/view.ts';
import { isolate } from '../../../texts/isolate.ts';
import { renderAddress } from '../../../texts/render-address.ts';

export interface ConsentView extends PageView {
  readonly application: NonNullable<PageView['application']>;
  readonly formToken: string;
  readonly clientName: string;
  /** The host of the client's metadata, which vouches for its name. */
  readonly clientHost: string;
  /** Undefined if the client is a program on the person's computer, which any other program can pretend to be. */
  readonly returnHost: string | undefined;
  readonly email: string;
  /** Bits, as in `scope.ts`. */
  readonly scope: number;
  /** What the resource says of the scopes. */
  readonly wanted: readonly string[];
}

/** Renders the question. It loads nothing of the client, which could else learn of the person before the answer. */
export function renderConsent(view: ConsentView): PageContent {
  const { language, application, place, formToken, returnHost, email, scope, wanted } = view;
  const client = html`<strong>${isolate(view.clientName)}</strong>`;
  const host = html`<strong><bdi dir="ltr">${view.clientHost}</bdi></strong>`;
  const resource = html`<strong>${isolate(application.name)}</strong>`;
  const title = language.text('oidc.consent.title');
  const text = language.html('oidc.consent.text', { client, host, resource, email: renderAddress(email) });
  const scopes = [
    ...wanted.map((description) => isolate(description)),
    ...(hasScope(scope, 'profile') ? [language.text('oidc.consent.profile')] : []),
    ...(hasScope(scope, 'email') ? [language.text('oidc.consent.email')] : []),
  ];
  const back =
    returnHost === undefined ? language.text('oidc.consent.returnHere') : html`<bdi dir="ltr">${returnHost}</bdi>`;
  return {
    language,
    application,
    title,
    body: html`${renderMark({ application, applicationName: application.name })}
${renderHeading(html`${title}`, html`<p>${text}</p>`)}
${scopes.length > 0 && html`<div><p>${language.text('oidc.consent.scopes')}</p><ul>${scopes.map((each) => html`<li>${each}</li>`)}</ul></div>\n`}<p>${language.html('oidc.consent.return', { host: html`<strong>${back}</strong>` })}</p>
${returnHost === undefined && html`<p class="alert warn">${language.html('oidc.consent.warning', { client })}</p>\n`}<form class="ways" method="post" action="${place.path}">
${renderQuery(place.query)}<input type="hidden" name="token" value="${formToken}"><button name="choice" value="allow">${language.text('oidc.consent.allow')}</button>
<button class="second" name="choice" value="deny">${language.text('oidc.consent.deny')}</button>
</form>`,
    footer: renderFooter(view),
  };
}
