/** The page behind the link in the notice of a recovery, with which the owner of the mailbox stops it. */
import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import { sendPage } from '../../login-page/pages/responses.ts';
import { readStopToken, stopRecovery } from './domain/stop-recovery.ts';
import { renderAccountForm, renderAccountMessage } from './pages/form.ts';
import { type AccountRequest, viewOf } from './request.ts';

/** Shows a button. To open the link changes nothing, because scanners of e-mails open links. */
export async function showStop(request: AccountRequest): Promise<void> {
  const { call, own } = request;
  const { t: token } = pickFields(request, 't');
  if (!readStopToken(own.keys, token, call.now)) return sendInvalid(request);
  const view = viewOf(request);
  const form = renderAccountForm(view, {
    action: 'recovery',
    title: 'account.undo.title',
    text: html`${view.language.text('account.recovery.text')}`,
    fields: html`<input type="hidden" name="t" value="${token}">`,
    submit: 'account.recovery.submit',
    isDangerous: true,
  });
  sendPage(request.context, 200, form);
}

export async function stopByNotice(request: AccountRequest): Promise<void> {
  const { call, context, own } = request;
  const linkId = readStopToken(own.keys, pickFields(request, 't').t, call.now);
  if (!linkId || !(await stopRecovery(call, linkId))) return sendInvalid(request);
  sendPage(context, 200, renderAccountMessage(viewOf(request), 'account.recovery.done', 'account.recovery.done.text'));
}

function sendInvalid(request: AccountRequest): void {
  const message = renderAccountMessage(viewOf(request), 'account.undo.invalid', 'account.recovery.invalid');
  sendPage(request.context, 200, message);
}
