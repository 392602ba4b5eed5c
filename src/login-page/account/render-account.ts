import { type AccountSession, isOfBrowser } from '../../domain/account/list-account-sessions.ts';
import { siteOf } from '../../domain/login/network.ts';
import { FRESH_MINUTES } from '../../domain/login/sign-in-age.ts';
import type { SignInMethod } from '../../domain/tokens/verify-token.ts';
import { type Html, html } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import { renderAddress } from '../../texts/render-address.ts';
import type { Language, TextKey } from '../../texts/texts.ts';
import { describeBrowser } from '../describe-browser.ts';
import type { PageContent } from '../pages/document.ts';
import { renderFooter } from '../pages/footer.ts';
import { renderPasskey } from '../pages/passkey.ts';
import type { AccountFormView, AccountView } from './account-view.ts';
import { renderIdentities, renderLinkButtons } from './render-identities.ts';
import { renderItem, renderToken } from './render-parts.ts';

const METHODS: ReadonlyMap<SignInMethod, TextKey> = new Map<SignInMethod, TextKey>([
  ['email', 'account.method.email'],
  ['issuer', 'account.method.issuer'],
  ['page', 'account.method.page'],
  ['passkey', 'account.method.passkey'],
  ['wallet', 'account.method.wallet'],
]);

export function renderAccount(view: AccountView): PageContent {
  const { language, user, note, alert, isFresh } = view;
  return {
    language,
    layout: 'page',
    title: language.text('account.title'),
    body: html`<header class="bar">
<strong>${language.text('account.title')}</strong>
${renderButton(view, 'logout', 'account.signOut', 'second')}
</header>
<main class="fields">
<div>
<h1>${user.name === null ? renderAddress(user.email) : isolate(user.name)}</h1>
<p class="soft">${language.html('account.text', { host: view.host })}</p>
</div>
<p class="alert" role="alert" tabindex="-1" id="alert">${alert}</p>
${note && html`<p class="alert note" role="status">${note}</p>`}
${!isFresh && renderStale(view)}
${renderYou(view)}
${renderWays(view)}
${renderSessions(view)}
${renderSignIns(view)}
${renderData(view)}
</main>`,
    footer: renderFooter(view),
  };
}

function renderStale(view: AccountView): Html {
  const { language } = view;
  return html`<div class="alert warn bar"><span>${language.text('account.stale', { duration: language.duration(FRESH_MINUTES, 'minute') })}</span>
${renderLoginButton(view, 'LOGIN', 'account.signInAgain')}</div>`;
}

function renderYou(view: AccountView): Html {
  const { language, user } = view;
  return renderPanel(
    'you',
    language.text('account.you'),
    html`${renderItem(language.text('account.name'), isolate(user.name ?? '–'), renderLink(view, 'name', 'account.change', 'account.name'))}
${renderItem(language.text('account.email'), renderAddress(user.email), view.hasEmail && renderLink(view, 'email', 'account.change', 'account.email'))}`,
  );
}

function renderWays(view: AccountView): Html {
  const { language, user, passkeys, hasWallets, hasEmail } = view;
  const { walletAddress, email } = user;
  const wallet =
    walletAddress &&
    renderItem(
      language.text('account.wallet'),
      html`<code><bdi>${`${walletAddress.slice(0, 6)}…${walletAddress.slice(-4)}`}</bdi></code>`,
      hasEmail && renderLink(view, 'wallet', 'account.remove', 'account.wallet', 'danger'),
    );
  return renderPanel(
    'ways',
    language.text('account.ways'),
    html`${passkeys?.map((passkey) => html`<div class="item">${renderPasskey(language, passkey)}${renderLoginButton(view, 'PASSKEYS', 'account.change', passkey.name)}</div>`)}
${hasWallets && wallet}
${renderIdentities(view)}
${hasEmail && renderItem(language.text('account.code'), language.html('account.code.text', { email: renderAddress(email) }))}`,
    html`<div class="actions">${passkeys && renderLoginButton(view, 'PASSKEYS', 'account.passkeys.manage')}
${hasWallets && !walletAddress && renderLink(view, 'wallet/new', 'account.wallet.add')}
${renderLinkButtons(view)}</div>`,
  );
}

function renderSessions(view: AccountView): Html {
  const { language, sessions } = view;
  return renderPanel(
    'where',
    language.text('account.sessions'),
    html`${sessions.map((session) => renderSession(view, session))}
${sessions.length === 0 && html`<p class="item soft">${language.text('account.sessions.none')}</p>`}`,
    sessions.length > 0 && renderButton(view, 'sessions/end-all', 'account.signOutEverywhere', 'danger'),
  );
}

function renderSession(view: AccountView, session: AccountSession): Html {
  const { language } = view;
  const { applicationId, applicationName, method, ipAddress, userAgent, beganAt, sid } = session;
  const facts = [
    isolate(describeBrowser(userAgent)),
    describeMethod(view, method),
    ipAddress && html`<bdi dir="ltr">${siteOf(ipAddress)}</bdi>`,
    language.html('account.since', { date: language.date(beganAt) }),
  ].filter((fact) => fact !== '');
  return renderItem(
    isolate(applicationName),
    html`${facts.flatMap((fact, index) => (index === 0 ? [fact] : [html` · `, fact]))}`,
    html`<form method="post" action="${view.path}/sessions/end">${renderToken(view)}<input type="hidden" name="application" value="${applicationId}">${
      sid !== undefined && html`<input type="hidden" name="sid" value="${sid}">`
    }
<button class="second">${language.text('account.signOut')}<span class="hide"> ${isolate(applicationName)}</span></button></form>`,
    renderDevice(language, isOfBrowser(session, view.user.id, view.thisDevice.browserDigest)),
  );
}

/** Returns the name of the method. A provider that was removed is named by its ID. */
function describeMethod({ language, providers }: AccountView, method: SignInMethod): Html {
  const key = METHODS.get(method);
  if (key) return html`${language.text(key)}`;
  const provider = providers.find(({ id }) => id === method)?.name ?? method;
  return language.html('account.method.provider', { provider });
}

/** Renders nothing without remembered sign-ins, because most applications share none. */
function renderSignIns(view: AccountView): Html | false {
  const { language, signIns, thisDevice } = view;
  if (signIns.length === 0) return false;
  const items = signIns.map(({ tokenDigest, method, authenticatedAt, expiresAt }) => {
    const isHere = thisDevice.tokenDigest?.equals(tokenDigest) ?? false;
    const until = language.html('account.until', { date: language.date(expiresAt) });
    return renderItem(
      isolate(language.date(authenticatedAt)),
      html`${describeMethod(view, method)} · ${until}`,
      false,
      renderDevice(language, isHere),
    );
  });
  return renderPanel(
    'remembered',
    language.text('account.remembered'),
    html`<p class="item soft">${language.text('account.remembered.text')}</p>
${items}`,
  );
}

function renderDevice(language: Language, isHere: boolean): Html | false {
  return isHere && html` <span class="tag good">${language.text('account.thisDevice')}</span>`;
}

function renderData(view: AccountView): Html {
  const { language, mayDelete } = view;
  return renderPanel(
    'data',
    language.text('account.data'),
    html`${renderItem(language.text('account.export'), language.text('account.export.text'), html`<a class="button second" href="${view.path}/data">${language.text('account.export.submit')}</a>`)}
${
  mayDelete &&
  renderItem(
    language.text('account.delete'),
    language.text('account.delete.text'),
    renderLink(view, 'delete', 'account.delete.open', undefined, 'danger'),
  )
}`,
  );
}

function renderPanel(id: string, title: string, items: Html, button?: Html | false): Html {
  return html`<section class="panel" aria-labelledby="${id}">
<header class="bar"><h2 id="${id}">${title}</h2>${button}</header>
${items}
</section>`;
}

/** @param what completes the short label for screen readers */
function renderLink(view: AccountView, to: string, label: TextKey, what?: TextKey, kind = 'second'): Html {
  const { language, path } = view;
  return html`<a class="button ${kind}" href="${path}/${to}">${language.text(label)}${what && html`<span class="hide"> ${language.text(what)}</span>`}</a>`;
}

function renderButton(view: AccountFormView, to: string, label: TextKey, kind: string): Html {
  return html`<form method="post" action="${view.path}/${to}">${renderToken(view)}<button class="${kind}">${view.language.text(label)}</button></form>`;
}

/** @param what completes the label for screen readers */
export function renderLoginButton(
  view: AccountFormView,
  prompt: 'LOGIN' | 'PASSKEYS',
  label: TextKey,
  what?: string,
): Html {
  return html`<form method="post" action="${view.path}/login">${renderToken(view)}<input type="hidden" name="prompt" value="${prompt}"><button class="second">${view.language.text(label)}${what && html`<span class="hide"> ${isolate(what)}</span>`}</button></form>`;
}
