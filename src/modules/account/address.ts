import { showEmail } from '../../config/email-address.ts';
import { LOGIN_CODE_MINUTES } from '../../domain/login/login-code.ts';
import { createMuteToken } from '../../domain/login/muted-addresses.ts';
import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Account } from '../../login-page/offer/page-offer.ts';
import { isAlertKey } from '../../login-page/pages/alerts.ts';
import { ADDRESS_FIELD } from '../../login-page/pages/parts.ts';
import { sendPage } from '../../login-page/pages/responses.ts';
import { createMuteLink, type Mail } from '../../mail/mail.ts';
import { isolate } from '../../texts/isolate.ts';
import { type AddressCode, changeAddress, createAddressCode, findNewAddress } from './domain/change-address.ts';
import { readUndoToken, undoAddressChange } from './domain/undo-address-change.ts';
import { createNoticeLinkActions } from './notice-link.ts';
import { renderAccountForm } from './pages/form.ts';
import { type AccountRequest, envelopeFor, redirect, viewOf } from './request.ts';

export async function showAddress(request: AccountRequest): Promise<void> {
  const view = viewOf(request);
  const { language } = view;
  const fields = html`<label for="email">${language.text('account.address.field')}</label>
<input id="email" name="email" ${ADDRESS_FIELD} autocomplete="email" autofocus>`;
  const text = html`${language.text('account.address.text')}`;
  const form = {
    action: 'email',
    title: 'account.address.title',
    text,
    fields,
    submit: 'account.address.submit',
  } as const;
  sendPage(request.context, 200, renderAccountForm(view, form));
}

/** Sends a code to the new address. The page is the same if another user has the address. */
export async function sendAddressCode(request: AccountRequest, { user }: Account): Promise<void> {
  const { call, browser, fields, parts } = request;
  const own = { userId: user.id, of: user.id };
  const created = await createAddressCode(call, parts.codes, browser, own, fields);
  redirect(request, '/email/code', { change: created.changeId });
  sendAddressMail(request, created);
}

/** Call it after the answer was sent. */
export function sendAddressMail(request: AccountRequest, { email, code, ...decoy }: AddressCode): void {
  const { call, context, parts } = request;
  const muteUrl = `${parts.authPageUrl}/mute?t=${createMuteToken(parts.codes.keys, email, call.now)}`;
  const mail = createAddressCodeMail({ ...envelopeFor(request, email), code, muteUrl });
  parts.mailer.send(mail, { requestId: context.requestId, ...decoy });
}

export async function showAddressCode(request: AccountRequest, { user }: Account): Promise<void> {
  const view = viewOf(request);
  const { language } = view;
  const { problem } = request.fields;
  const { change: changeId } = pickFields(request, 'change');
  const address = await findNewAddress(request.call, request.browser, user.id, changeId);
  // The code has expired, or the change is of another person or browser.
  if (!address) return redirect(request, '/email', isAlertKey(problem) ? { problem } : {});
  const email = html`<strong>${isolate(showEmail(address))}</strong>`;
  const duration = language.duration(LOGIN_CODE_MINUTES, 'minute');
  const fields = html`<input type="hidden" name="change" value="${changeId}"><label for="code">${language.text('code.field')}</label>
<input id="code" class="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[\\p{Nd}\\s\\-]*" title="${language.text('code.field.title')}" dir="ltr" required autofocus>`;
  const text = language.html('account.address.sent', { email, duration });
  const form = { action: 'email/code', title: 'code.title', text, fields, submit: 'account.address.change' } as const;
  sendPage(request.context, 200, renderAccountForm(view, form));
}

/** Changes the address. The old one gets a notice. */
export async function redeemAddressCode(request: AccountRequest, { user }: Account): Promise<void> {
  const { call, browser, parts } = request;
  const { change: changeId, code } = pickFields(request, 'change', 'code');
  await changeAddress(call, parts.codes, browser, user.id, { changeId, code });
  redirect(request, '', { done: 'email' });
}

export const UNDO_ACTIONS = createNoticeLinkActions({
  path: 'undo',
  read: ({ call, own }: AccountRequest, token) => readUndoToken(own.keys, token, call.now),
  text(language, { from, to }) {
    const addresses = { old: showEmail(from), new: showEmail(to) };
    return html`${language.html('account.undo.text', addresses)} ${language.text('account.undo.added')}`;
  },
  submit: 'account.undo.submit',
  isDangerous: false,
  async follow({ call, parts }, change) {
    await undoAddressChange(call, change);
    parts.onSignedOut(change.userId);
  },
  done: ['account.undo.done', 'account.undo.done.text'],
  invalid: 'account.undo.help',
});

interface AddressCodeMail extends Pick<Mail, 'to' | 'language' | 'application'> {
  readonly code: string;
  /** The host of the page on which the code is entered. */
  readonly host: string;
  /** The link that mutes the address. */
  readonly muteUrl: string;
}

/** Returns the e-mail with the code that a change of the address requires. It goes to the new address. */
function createAddressCodeMail({ code, host, muteUrl, ...envelope }: AddressCodeMail): Mail {
  const duration = envelope.language.duration(LOGIN_CODE_MINUTES, 'minute');
  return {
    ...envelope,
    kind: 'address code',
    subject: ['mail.addressCode.subject', { code }],
    heading: ['mail.addressCode.title'],
    code: {
      digits: code,
      sentence: ['mail.addressCode.sentence', { code }],
      preheader: ['mail.addressCode.preheader', { code, duration }],
    },
    paragraphs: [['mail.code.where', { host, duration }]],
    notes: [['mail.addressCode.ignore']],
    link: createMuteLink(envelope.language, muteUrl),
  };
}
