/** The page behind a link in a notice, with which the owner of the mailbox undoes what somebody else may have done. */
import { ServiceError } from '../../domain/core/errors.ts';
import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { LoginRequest } from '../../login-page/offer/login-request.ts';
import type { NoticeLink } from '../../login-page/offer/page-offer.ts';
import { sendPage } from '../../login-page/pages/responses.ts';
import type { TextKey } from '../../texts/texts.ts';
import { renderAccountForm, renderAccountMessage } from './pages/form.ts';
import { viewOf } from './request.ts';

/** Returns the two actions of the page. */
export function createNoticeLinkActions<Facts, Request extends LoginRequest>(link: NoticeLink<Facts, Request>) {
  const path = `/account/${link.path}`;
  const read = (request: Request) => link.read(request, pickFields(request, 't').t);

  /** Shows a button. To open the link changes nothing, because scanners of e-mails open links. */
  async function show(request: Request): Promise<void> {
    const facts = read(request);
    if (!facts) return sendInvalid(request);
    const view = viewOf(request);
    const form = renderAccountForm(view, {
      action: link.path,
      title: 'account.undo.title',
      text: link.text(view.language, facts),
      fields: html`<input type="hidden" name="t" value="${pickFields(request, 't').t}">`,
      submit: link.submit,
      isDangerous: link.isDangerous,
    });
    sendPage(request.context, 200, form);
  }

  async function follow(request: Request): Promise<void> {
    const facts = read(request);
    if (!facts) return sendInvalid(request);
    try {
      await link.follow(request, facts);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return sendInvalid(request);
    }
    send(request, ...link.done);
  }

  const sendInvalid = (request: Request) => send(request, 'account.undo.invalid', link.invalid);

  return [
    { method: 'GET', path, form: 'choice', run: show },
    { method: 'POST', path, form: 'choice', run: follow },
  ] as const;
}

function send(request: LoginRequest, title: TextKey, text: TextKey): void {
  sendPage(request.context, 200, renderAccountMessage(viewOf(request), title, text));
}
