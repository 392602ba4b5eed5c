import { html } from '../../../http/html.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderAlert, renderFooter, renderHeading, renderOwnLogin } from '../../../login-page/pages/parts.ts';
import { PASSKEY_CREATION_SCRIPT, PASSKEY_MARK, renderNewPasskey } from './passkey-form.ts';
import type { PasskeysView } from './view.ts';

/** Renders the offer to save a passkey, after a sign-in without one. */
export function renderPasskeyOffer(view: PasskeysView): PageContent {
  const { language, applicationName: application, path } = view;
  const host = html`<strong><bdi>${view.host}</bdi></strong>`;
  return {
    language,
    title: language.text('passkey.offer.titleBar', { application }),
    body: html`${PASSKEY_MARK}
${renderHeading(language.html('passkey.offer.title'), html`<p>${language.text('passkey.offer.text')}</p>`)}
${renderAlert(view.alert)}
<p class="soft">${language.html('passkey.offer.host', { host })}</p>
<div class="ways">
${renderNewPasskey(view, '')}
<form id="later" method="post" action="${path}/passkey/later">
${renderOwnLogin(view)}<button class="second">${language.text('passkey.offer.later')}</button>
</form>
</div>`,
    footer: renderFooter(view),
    scripts: [PASSKEY_CREATION_SCRIPT],
  };
}
