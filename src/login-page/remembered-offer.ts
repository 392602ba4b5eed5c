/** The sign-ins that browsers remember, on the account page. */
import {
  type AccountRememberedSignIn,
  countRememberedSignIns,
  listRememberedSignIns,
} from '../domain/remembered-sign-ins/list-remembered-sign-ins.ts';
import { digestSignInToken } from '../domain/remembered-sign-ins/sign-in-token.ts';
import { html } from '../http/html.ts';
import { isolate } from '../texts/isolate.ts';
import type { AccountFormView, PageOffer, ShownSection } from './page-offer.ts';
import { renderAccountPanel, renderDevice, renderItem } from './pages/panel.ts';
import { readSignInToken } from './remembered-sign-in.ts';
import { renderMethod } from './render-method.ts';

export const REMEMBERED_OFFER: PageOffer = {
  accountSection: {
    async show({ browser, call, context, parts }, view, { id: userId }) {
      const signIns = await listRememberedSignIns(call, userId);
      const token = readSignInToken(context, browser);
      const tokenDigest = token === undefined ? undefined : digestSignInToken(token);
      return renderSignIns(view, { signIns, tokenDigest, providers: parts.providers });
    },
    exportData: countRememberedSignIns,
  },
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
