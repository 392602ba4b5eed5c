/** The account page. Other parts add sections and actions to it. */
import { ACCOUNT_APPLICATION_ID } from '../../domain/core/own-applications.ts';

import type { AccountPage, PageOffer } from '../page-offer.ts';
import { sendPage } from '../responses.ts';
import { createAccountActions } from './account-actions.ts';
import { beginAccountLogin } from './account-login.ts';
import { accountUrlOf, changing, readAccount, redirect, viewOf } from './account-request.ts';
import { renderOwnWallet } from './account-wallet.ts';
import { renderAccountForm, renderAccountMessage } from './render-account-form.ts';

const ACCOUNT_PAGE: AccountPage = {
  read: readAccount,
  changing,
  beginLogin: (request) => beginAccountLogin(request, 'LOGIN'),
  redirect,
  sendForm: (request, form) => sendPage(request.context, 200, renderAccountForm(viewOf(request), form)),
  sendMessage: (request, title, text) =>
    sendPage(request.context, 200, renderAccountMessage(viewOf(request), title, text)),
};

/** @param readOffers returns the offers of all parts, of this one as well */
export function createAccountOffer(authPageUrl: string, readOffers: () => readonly PageOffer[]): PageOffer {
  const readSections = () => readOffers().flatMap(({ accountSection = [] }) => accountSection);
  return {
    createActions: () => createAccountActions(readSections),
    accountPage: ACCOUNT_PAGE,
    home: { applicationId: ACCOUNT_APPLICATION_ID, path: new URL(accountUrlOf(authPageUrl)).pathname },
    accountSection: {
      async show({ parts: { methods } }, view, user) {
        return methods.includes('wallet') ? renderOwnWallet(view, user, { hasEmail: methods.includes('email') }) : {};
      },
    },
  };
}
