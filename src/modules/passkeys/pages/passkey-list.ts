import type { Passkey } from '../../../domain/passkeys/list-passkeys.ts';
import { type Html, html, readStyle } from '../../../http/html.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import {
  renderAlert,
  renderFooter,
  renderHeading,
  renderLogin,
  renderOwnLogin,
} from '../../../login-page/pages/parts.ts';
import { SECOND_STEP } from '../../../login-page/redirect-to-form.ts';
import { isolate } from '../../../texts/isolate.ts';
import { MAX_PASSKEY_NAME } from '../domain/rename-passkey.ts';
import { PASSKEY_CREATION_SCRIPT, PASSKEY_MARK, renderNewPasskey } from './passkey-form.ts';
import { type PasskeysView, renderPasskey } from './view.ts';

const STYLE = readStyle(new URL('passkeys.css', import.meta.url));

/** Renders the passkeys of a person who has just signed in. */
export function renderPasskeyList(view: PasskeysView): PageContent {
  const { language, applicationName: application, passkeys, path } = view;
  return {
    language,
    title: language.text('passkey.list.titleBar', { application }),
    body: html`${PASSKEY_MARK}
${renderHeading(language.html('passkey.list.title'))}
${renderAlert(view.alert)}
${passkeys.length === 0 ? html`<p class="soft">${language.text('passkey.list.empty')}</p>` : renderItems(view)}
<div class="ways">
${renderNewPasskey(view, 'passkeys')}
${
  view.mayAddApp &&
  html`<form method="get" action="${path}/${SECOND_STEP}/new">
${renderLogin({ ...view, next: 'passkeys' })}<button class="second">${language.text('secondFactor.new.title')}</button>
</form>`
}
<form method="get" action="${path}">
${renderLogin(view)}<button class="second">${language.html('passkey.list.back', { application })}</button>
</form>
</div>`,
    footer: renderFooter(view),
    style: STYLE,
    scripts: [PASSKEY_CREATION_SCRIPT],
  };
}

function renderItems(view: PasskeysView): Html {
  const { host, options, passkeys } = view;
  const known = JSON.stringify(passkeys.map(({ credentialId }) => credentialId.toString('base64url')));
  return html`<ul class="passkeys" data-rp-id="${host}" data-user-id="${options.user.id}" data-known="${known}">
${passkeys.map((passkey) => renderItem(view, passkey))}</ul>`;
}

function renderItem(view: PasskeysView, passkey: Passkey): Html {
  const { language, path } = view;
  const { id, name } = passkey;
  const hidden = html`${renderOwnLogin({ ...view, next: 'passkeys' })}<input type="hidden" name="id" value="${id}">`;
  const ofName = html`<span class="hide"> ${isolate(name)}</span>`;
  return html`<li>
${renderPasskey(language, passkey)}
<form method="post" action="${path}/passkeys/name">
${hidden}<label class="hide" for="name-${id}">${language.text('passkey.list.name')}</label>
<input id="name-${id}" name="name" dir="auto" autocomplete="off" required maxlength="${String(MAX_PASSKEY_NAME)}" value="${name}">
<button class="quiet">${language.text('passkey.list.rename')}${ofName}</button>
</form>
<form method="post" action="${path}/passkeys/delete">
${hidden}<button class="quiet danger">${language.text('passkey.list.remove')}${ofName}</button>
</form>
</li>
`;
}

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
