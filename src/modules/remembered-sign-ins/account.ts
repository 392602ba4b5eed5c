/** The sign-ins that browsers remember, on the account page. */

import { html } from '../../http/html.ts';
import type { AccountFormView, AccountSection, ShownSection } from '../../login-page/offer/page-offer.ts';
import { renderMethod } from '../../login-page/pages/describe-sign-in.ts';
import { renderAccountPanel, renderDevice, renderItem } from '../../login-page/pages/parts.ts';
import { isolate } from '../../texts/isolate.ts';
import { readSignInToken } from './cookie.ts';
import {
  type AccountRememberedSignIn,
  countRememberedSignIns,
  listRememberedSignIns,
} from './domain/list-remembered-sign-ins.ts';
import { digestSignInToken } from './domain/sign-in-token.ts';

export const ACCOUNT_SECTION: AccountSection = {
  async show({ browser, call, context, parts }, view, { id: userId }) {
    const signIns = await listRememberedSignIns(call, userId);
    const token = readSignInToken(context, browser);
    const tokenDigest = token === undefined ? undefined : digestSignInToken(token);
    return renderSignIns(view, { signIns, tokenDigest, providers: parts.providers });
  },
  exportData: countRememberedSignIns,
};

interface ShownSignIns {
  readonly signIns: readonly AccountRememberedSignIn[];
  /** Identifies the sign-in of this browser. */
  readonly tokenDigest: Buffer | undefined;
  readonly providers: { nameOf(providerId: string): string };
}

/** Renders nothing without remembered sign-ins, because most applications share none. */
export function renderSignIns(
  { language }: AccountFormView,
  { signIns, tokenDigest, providers }: ShownSignIns,
): ShownSection {
  if (signIns.length === 0) return {};
  const items = signIns.map((signIn) => {
    const isHere = tokenDigest?.equals(signIn.tokenDigest) ?? false;
    const until = language.html('account.until', { date: language.date(signIn.expiresAt) });
    return renderItem(
      isolate(language.date(signIn.authenticatedAt)),
      html`${renderMethod(language, signIn.method, providers)} · ${until}`,
      false,
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
