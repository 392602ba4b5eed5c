import { ServiceError } from '../../domain/core/errors.ts';
import { endUserSessions } from '../../domain/lifecycle/end-user-sessions.ts';
import { removeAdded } from '../../domain/lifecycle/remove-added.ts';
import { html } from '../../http/html.ts';
import type { Action } from '../../login-page/action.ts';
import { pickFields } from '../../login-page/login-context.ts';
import type { LoginRequest } from '../../login-page/login-request.ts';
import type { AccountPage } from '../../login-page/page-offer.ts';
import { readSignInsToken } from './sign-ins-link.ts';

/** The most by which the clocks of replicas may differ. */
const CLOCK_SKEW_MS = 60_000;

/** @param keys of the links */
export function createSignInsActions(account: AccountPage, keys: readonly Buffer[]): readonly Action[] {
  return [
    { method: 'GET', path: '/account/sign-ins', form: 'choice', run: showButton },
    { method: 'POST', path: '/account/sign-ins', form: 'choice', run: endAll },
  ];

  /** Shows a button. To open the link changes nothing, because scanners of e-mails open links. */
  async function showButton(request: LoginRequest): Promise<void> {
    const { call, languages } = request;
    const { t: token } = pickFields(request, 't');
    if (!readSignInsToken(keys, token, call.now)) return sendInvalid(request);
    const language = languages.languageFor();
    account.sendForm(request, {
      action: 'sign-ins',
      title: 'account.undo.title',
      text: html`${language.text('account.signIns.text')} ${language.text('account.undo.added')}`,
      fields: html`<input type="hidden" name="t" value="${token}">`,
      submit: 'account.signOutEverywhere',
      isDangerous: true,
    });
  }

  async function endAll(request: LoginRequest): Promise<void> {
    const { call, parts } = request;
    const signIn = readSignInsToken(keys, pickFields(request, 't').t, call.now);
    try {
      if (!signIn) throw new ServiceError('USER_NOT_FOUND');
      const { userId, at } = signIn;
      await endUserSessions(call, { userId });
      await removeAdded(call, { userId, addedSince: new Date(at.getTime() - CLOCK_SKEW_MS) });
      parts.onSignedOut(userId);
      account.sendMessage(request, 'account.signIns.done', 'account.undo.done.text');
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      sendInvalid(request);
    }
  }

  function sendInvalid(request: LoginRequest): void {
    account.sendMessage(request, 'account.undo.invalid', 'account.signIns.invalid');
  }
}
