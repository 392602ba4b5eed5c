/** The account page, where people see and change what Usher stores about them. Other modules add sections and actions. */
import { createOperatorCheck } from '../../config/operators.ts';
import type { NoticeLinks } from '../../domain/notices/due-notices.ts';
import type { Action } from '../../login-page/offer/login-request.ts';
import type { PageOffer } from '../../login-page/offer/page-offer.ts';
import { sendPage } from '../../login-page/pages/responses.ts';
import type { Module } from '../module.ts';
import { createAccountActions } from './actions.ts';
import { createBrowserSignIn } from './cookie.ts';
import { createStopToken } from './domain/stop-recovery.ts';
import { createUndoToken } from './domain/undo-address-change.ts';
import { beginAccountLogin } from './login.ts';
import { createNoticeLinkActions } from './notice-link.ts';
import { renderAccountForm } from './pages/form.ts';
import { type AccountAction, changing, readAccount, redirect, signedIn, viewOf } from './request.ts';
import { ACCOUNT_SETTINGS, type AccountConfig } from './settings.ts';
import { createSignInsToken } from './sign-ins.ts';

export const accountModule: Module<AccountConfig> = {
  name: 'account',
  settings: ACCOUNT_SETTINGS,
  offer(config, { accountKeys: keys }) {
    const signInsLink: NoticeLinks[keyof NoticeLinks] = ({ userId, changedAt }) =>
      `/sign-ins?t=${createSignInsToken(keys, userId, changedAt)}`;
    const own = { keys, allowDeletion: config.allowAccountDeletion, isOperator: createOperatorCheck(config) };
    const withOwn = (run: AccountAction['run']): Action['run'] => {
      return (request) => run({ ...request, own });
    };
    const pages: PageOffer = {
      createActions: (_, sections) =>
        createAccountActions(sections).map((action) => ({ ...action, run: withOwn(action.run) })),
      accountPage: {
        read: (request) => readAccount({ ...request, own }),
        showing: (run) => withOwn(signedIn((request, account) => run(request, account, viewOf(request)))),
        changing: (form, run) => withOwn(changing(form, run)),
        beginLogin: (request) => beginAccountLogin({ ...request, own }, 'LOGIN'),
        redirect,
        viewOf,
        sendForm: (request, form) => sendPage(request.context, 200, renderAccountForm(viewOf(request), form)),
        createNoticeLinkActions,
      },
      browserSignIn: createBrowserSignIn(keys),
      noticeLinks: {
        addressChanged: ({ userId, recipient: from, value: to, changedAt: at }) =>
          `/undo?t=${createUndoToken(keys, { userId, from, to, at })}`,
        clientAllowed: signInsLink,
        deviceAllowed: signInsLink,
        newDevice: signInsLink,
        recoveryStarted: ({ value: linkId, changedAt }) => `/recovery?t=${createStopToken(keys, linkId, changedAt)}`,
      },
    };
    return { pages };
  },
};
