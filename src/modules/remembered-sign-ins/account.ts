/** The sign-ins that browsers remember, on the account page. */

import { html } from '../../http/html.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Action } from '../../login-page/offer/login-request.ts';
import type { AccountFormView, AccountPage, AccountSection, ShownSection } from '../../login-page/offer/page-offer.ts';
import { describeBrowser, renderSignIn } from '../../login-page/pages/describe-sign-in.ts';
import { renderAccountPanel, renderDevice, renderItem, renderToken } from '../../login-page/pages/parts.ts';
import { isolate } from '../../texts/isolate.ts';
import { readSignInToken } from './cookie.ts';
import { forgetListedSignIn } from './domain/forget-sign-in.ts';
import {
  type AccountRememberedSignIn,
  exportRememberedSignIns,
  listRememberedSignIns,
} from './domain/list-remembered-sign-ins.ts';
import { digestSignInToken } from './domain/sign-in-token.ts';

export const ACCOUNT_SECTION: AccountSection = {
  notes: { forgotten: 'account.note.forgotten' },
  async show({ browser, call, context, parts }, view, { id: userId }) {
    const signIns = await listRememberedSignIns(call, userId);
    const token = readSignInToken(context, browser);
    const tokenDigest = token === undefined ? undefined : digestSignInToken(token);
    return renderSignIns(view, { signIns, tokenDigest, providers: parts.providers });
  },
  exportData: exportRememberedSignIns,
};

/** Returns the action that forgets a sign-in, also one in another browser. */
export function createForgetAction({ changing, redirect }: AccountPage): Action {
  return {
    method: 'POST',
    path: '/account/remembered/forget',
    form: 'choice',
    run: changing('', async (request, { call, user }) => {
      const { browser } = request;
      await forgetListedSignIn(call, { userId: user.id, digest: pickFields(request, 'signIn').signIn, browser });
      redirect(request, '', { done: 'forgotten' });
    }),
  };
}

interface ShownSignIns {
  readonly signIns: readonly AccountRememberedSignIn[];
  /** Identifies the sign-in of this browser. */
  readonly tokenDigest: Buffer | undefined;
  readonly providers: { nameOf(providerId: string): string };
}

/** Renders nothing without remembered sign-ins, because most applications share none. */
export function renderSignIns(view: AccountFormView, { signIns, tokenDigest, providers }: ShownSignIns): ShownSection {
  const { language, path } = view;
  if (signIns.length === 0) return {};
  const items = signIns.map((signIn) => {
    const isHere = tokenDigest?.equals(signIn.tokenDigest) === true;
    const browser = describeBrowser(signIn.userAgent ?? '');
    const at = isolate(language.moment(signIn.authenticatedAt));
    const until = language.html('account.until', { date: language.date(signIn.expiresAt) });
    const name = browser ? isolate(browser) : at;
    return renderItem(
      name,
      renderSignIn(language, signIn, providers, [browser !== '' && at, until]),
      html`<form method="post" action="${path}/remembered/forget">${renderToken(view)}<input type="hidden" name="signIn" value="${signIn.tokenDigest.toString('base64url')}">
<button class="second">${language.text('account.forget')}<span class="hide"> ${name}</span></button></form>`,
      renderDevice(language, isHere),
    );
  });
  const panel = renderAccountPanel(
    'remembered',
    language.text('account.remembered'),
    html`<p class="item soft">${language.text('account.remembered.text')}</p>
${items}`,
  );
  return { panel };
}
