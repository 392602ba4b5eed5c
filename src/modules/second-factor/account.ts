/** The authenticator app on the account page: its facts, new recovery codes, and its removal. */

import { TWO_FACTORS } from '../../domain/core/assurance.ts';
import type { Call } from '../../domain/core/call.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import type { DerivedKeys } from '../../domain/crypto/derived-keys.ts';
import { endUserSessions } from '../../domain/lifecycle/end-user-sessions.ts';
import { findLoginIntent } from '../../domain/login/login-intent.ts';
import { findRecentSignIn } from '../../domain/login/recent-sign-in.ts';
import { findSecondFactor, type SecondFactor } from '../../domain/second-factor/find-second-factor.ts';
import { removeSecondFactor } from '../../domain/second-factor/remove-second-factor.ts';
import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import { type Action, type LoginRequest, loginPathOf } from '../../login-page/offer/login-request.ts';
import type {
  Account,
  AccountFormView,
  AccountPage,
  AccountSection,
  ShownSection,
} from '../../login-page/offer/page-offer.ts';
import { renderAccountLink, renderItem } from '../../login-page/pages/parts.ts';
import { sendPage, sendRedirect } from '../../login-page/pages/responses.ts';
import { SECOND_STEP } from '../../login-page/redirect-to-form.ts';
import { readAddedFactorToken, removeAddedFactor } from './domain/added-factor-link.ts';
import { makeRecoveryCodes } from './domain/confirm-totp.ts';
import { describeFactor, renderManageFactor, renderStartSetUp } from './pages/account-factor.ts';
import { renderCodesPage } from './pages/recovery-codes.ts';

export function createFactorSection(): AccountSection {
  return {
    notes: { secondFactorRemoved: 'secondFactor.note.removed' },
    show: async ({ call }, view, { id: userId }) =>
      renderOwnFactor(view, await findSecondFactor(call, userId), call.now),
    exportData: async (call, userId) => ({ secondFactor: await findSecondFactor(call, userId) }),
  };
}

/** Renders the app of the user, or the button that sets one up. */
export function renderOwnFactor(view: AccountFormView, factor: SecondFactor | undefined, now: Date): ShownSection {
  const { language } = view;
  if (!factor) return { ways: html``, buttons: renderAccountLink(view, SECOND_STEP, 'secondFactor.new.title') };
  const change = renderAccountLink(view, SECOND_STEP, 'account.change', 'secondFactor.name');
  return { ways: renderItem(language.text('secondFactor.name'), describeFactor(language, factor, now), change) };
}

/** @param keys of the links in notices */
export function createAccountFactorActions(page: AccountPage, keys: DerivedKeys): readonly Action[] {
  const path = `/account/${SECOND_STEP}`;
  return [
    { method: 'GET', path, form: 'choice', run: page.showing(show) },
    { method: 'GET', path: `${path}/new`, form: 'choice', run: page.showing(beginSetUp) },
    { method: 'POST', path: `${path}/codes`, form: 'choice', run: page.changing(SECOND_STEP, makeCodes) },
    { method: 'POST', path: `${path}/remove`, form: 'choice', run: page.changing(SECOND_STEP, remove) },
    ...page.createNoticeLinkActions({
      path: `${SECOND_STEP}/added`,
      read: ({ call }, token) => readAddedFactorToken(keys, token, call.now),
      text: (language) => html`${language.text('secondFactor.added.text')}`,
      submit: 'account.remove',
      isDangerous: true,
      async follow({ call, parts }, added) {
        await removeAddedFactor(call, added);
        parts.onSignedOut(added.userId);
      },
      done: ['secondFactor.note.removed', 'account.undo.done.text'],
      invalid: 'account.signIns.invalid',
    }),
  ];

  async function show(request: LoginRequest, account: Account, view: AccountFormView): Promise<void> {
    const factor = await findSecondFactor(request.call, account.user.id);
    if (!factor) return beginSetUp(request, account, view);
    const mayChange = account.isFresh && (await hasTwoFactors(request.call, account));
    sendPage(request.context, 200, renderManageFactor(view, factor, { mayChange, now: request.call.now }));
  }

  /** Asks for a new sign-in first if the last one was continued or is old, as the page of passkeys does. */
  async function beginSetUp(request: LoginRequest, { signIn }: Account, view: AccountFormView): Promise<void> {
    const { browser, call, context, parts } = request;
    const { loginIntentId } = signIn;
    if (!(await findRecentSignIn(call, browser, signIn))) return sendPage(context, 200, renderStartSetUp(view));
    const query = new URLSearchParams({ intent: loginIntentId });
    sendRedirect(context, `${loginPathOf(parts)}/${SECOND_STEP}/new?${query}`);
  }

  async function makeCodes(request: LoginRequest, account: Account): Promise<void> {
    const { call, context } = request;
    await requireTwoFactors(call, account);
    const codes = await makeRecoveryCodes(call, account.user.id);
    if (!codes) return page.redirect(request, '');
    const view = page.viewOf(request);
    const saved = html`<a class="button" href="${view.path}">${view.language.text('secondFactor.codes.saved')}</a>`;
    sendPage(context, 200, renderCodesPage(view, { codes, countsFrom: null }, saved));
  }

  async function remove(request: LoginRequest, account: Account): Promise<void> {
    const { call, parts } = request;
    const userId = account.user.id;
    await requireTwoFactors(call, account);
    await removeSecondFactor(call, { userId });
    if (!pickFields(request, 'everywhere').everywhere)
      return page.redirect(request, '', { done: 'secondFactorRemoved' });
    await endUserSessions(call, { userId });
    parts.onSignedOut(userId);
    page.redirect(request, '', { done: 'sessions' });
  }
}

async function hasTwoFactors(call: Call, { signIn }: Account): Promise<boolean> {
  const intent = await findLoginIntent(call, signIn.loginIntentId);
  return (intent?.assurance ?? 0) >= TWO_FACTORS;
}

/** @throws ServiceError `Assurance not met` */
async function requireTwoFactors(call: Call, account: Account): Promise<void> {
  if (!(await hasTwoFactors(call, account))) throw new ServiceError('ASSURANCE_NOT_MET');
}
