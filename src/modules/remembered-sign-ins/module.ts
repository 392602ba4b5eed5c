/** Sign-ins that browsers remember, so that people continue them in other applications: "Continue as". */

import { keepAnswer } from '../../login-page/browser/browser-cookie.ts';
import { type BrowserSignIn, type RememberedSignIns, signOutHere } from '../../login-page/offer/browser-sign-ins.ts';
import type { Action, LoginRequest } from '../../login-page/offer/login-request.ts';
import type { PageOffer } from '../../login-page/offer/page-offer.ts';
import { sendRedirect } from '../../login-page/pages/responses.ts';
import { redirectToForm } from '../../login-page/redirect-to-form.ts';
import type { Module } from '../module.ts';
import { ACCOUNT_SECTION, createForgetAction } from './account.ts';
import { forgetHere, readSignInToken, writeSignInToken } from './cookie.ts';
import { completeRememberedLogin } from './domain/complete-remembered-login.ts';
import { findRememberedSignIn, findRememberedUser } from './domain/find-remembered-sign-in.ts';
import { rememberSignIn } from './domain/remember-sign-in.ts';
import type { SharingSettings } from './domain/usable-sign-in.ts';
import { renderContinue } from './pages/continue.ts';
import { type RememberedSignInsConfig, SETTINGS_OF_REMEMBERED_SIGN_INS } from './settings.ts';

export const rememberedSignInsModule: Module<RememberedSignInsConfig> = {
  name: 'remembered-sign-ins',
  settings: SETTINGS_OF_REMEMBERED_SIGN_INS,
  offer(settings) {
    const rememberedSignIns = createRememberedSignIns(settings);
    const pages: PageOffer = {
      createActions: (account) => [
        ...createContinueActions(rememberedSignIns),
        ...(account ? [createForgetAction(account)] : []),
      ],
      accountSection: ACCOUNT_SECTION,
      browserSignIn: BROWSER_SIGN_IN,
      ...(settings.singleSignOnMaxAgeSeconds > 0 && { rememberedSignIns }),
    };
    return { pages };
  },
};

const BROWSER_SIGN_IN: BrowserSignIn = {
  async findUserId({ call, context, browser }) {
    const token = readSignInToken(context, browser);
    return token === undefined ? undefined : findRememberedUser(call, token);
  },
  async end(own, { userId, cutOff }) {
    const forgotten = await forgetHere(own, userId);
    if (forgotten) await cutOff?.(forgotten);
  },
};

function createRememberedSignIns(settings: SharingSettings): RememberedSignIns {
  const maxAgeSeconds = settings.singleSignOnMaxAgeSeconds;
  return {
    async remember({ call, context, browser }, signIn) {
      const formerToken = readSignInToken(context, browser);
      const token = await rememberSignIn(call, browser, signIn, { formerToken, maxAgeSeconds }).catch(() => undefined);
      if (token) writeSignInToken(context, browser, token, maxAgeSeconds);
    },
    async renderOffer({ call, context, browser }, login, view) {
      const signIn = await findRememberedSignIn(call, settings, login, readSignInToken(context, browser));
      return signIn && renderContinue({ ...view, signIn, now: call.now });
    },
    hasCookie: (context, browser) => readSignInToken(context, browser) !== undefined,
    complete({ call, context, browser }, tokens, { userId = null, ...login }) {
      const token = readSignInToken(context, browser);
      return completeRememberedLogin(call, { ...settings, tokens }, browser, token, login, { userId });
    },
  };
}

/** Returns the actions of the page that offers to continue a sign-in. */
function createContinueActions(signIns: RememberedSignIns): readonly Action[] {
  return [
    {
      method: 'POST',
      path: '/login/continue',
      form: 'choice',
      signsInBy: 'remembered',
      run: (request) => continueSignIn(request, signIns),
    },
    { method: 'POST', path: '/login/forget', form: 'choice', run: signOutAndChoose },
  ];
}

async function continueSignIn(request: LoginRequest, signIns: RememberedSignIns): Promise<void> {
  const { redirectUrl } = await signIns.complete(request, request.parts.tokens, request.fields);
  keepAnswer(request);
  sendRedirect(request.context, redirectUrl);
}

/** Signs out, and shows the choice of how to sign in as somebody else. */
async function signOutAndChoose(request: LoginRequest): Promise<void> {
  await signOutHere(request);
  redirectToForm(request, 'choice');
}
