import { type AccountSession, isOfBrowser } from '../../../domain/grants/list-account-sessions.ts';
import { FRESH_MINUTES } from '../../../domain/login/sign-in-age.ts';
import { toSignInRow } from '../../../domain/notices/notice-row.ts';
import type { UserAccess } from '../../../domain/users/list-user-access.ts';
import type { User } from '../../../domain/users/user.ts';
import { type Html, html } from '../../../http/html.ts';
import type { AccountFormView, ShownSection } from '../../../login-page/offer/page-offer.ts';
import { describeBrowser, renderSignIn } from '../../../login-page/pages/describe-sign-in.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import {
  renderAccountLink,
  renderAccountPanel,
  renderDevice,
  renderFooter,
  renderItem,
  renderLoginButton,
  renderToken,
} from '../../../login-page/pages/parts.ts';
import { isolate, isolateAll, renderAddress } from '../../../texts/isolate.ts';
import type { TextKey } from '../../../texts/texts.ts';

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
${renderApplications(view)}
${renderYou(view)}
${renderWays(view)}
${renderSessions(view)}
${view.sections.map(({ panel }) => (panel ? html`${panel}\n` : html``))}${renderData(view)}
</main>`,
    footer: renderFooter(view),
  };
}

function renderStale(view: AccountView): Html {
  const { language } = view;
  return html`<div class="alert warn bar"><span>${language.text('account.stale', { duration: language.duration(FRESH_MINUTES, 'minute') })}</span>
${renderLoginButton(view, 'LOGIN', 'account.signInAgain')}</div>`;
}

/** Renders links to the applications that say where a login starts. */
function renderApplications({ applications, language }: AccountView): Html | false {
  const items = applications.flatMap((application) => {
    const { name, initiateLoginUri, lastSignedInAt } = application;
    if (initiateLoginUri === null) return [];
    const used =
      lastSignedInAt && html` · ${language.html('account.clients.used', { date: language.date(lastSignedInAt) })}`;
    return renderItem(
      renderName(name, application),
      html`<bdi dir="ltr">${new URL(initiateLoginUri).host}</bdi>${used ?? ''}`,
    );
  });
  return items.length > 0 && renderAccountPanel('applications', language.text('account.applications'), html`${items}`);
}

/** Renders the name, which leads to the application if it says where a login starts. */
function renderName(name: string, application: UserAccess | undefined): Html {
  const { initiateLoginUri } = application ?? {};
  return initiateLoginUri ? html`<a class="over" href="${initiateLoginUri}">${isolate(name)}</a>` : isolate(name);
}

function renderYou(view: AccountView): Html {
  const { groups, language, user } = view;
  return renderAccountPanel(
    'you',
    language.text('account.you'),
    html`${renderItem(language.text('account.name'), isolate(user.name ?? '–'), renderAccountLink(view, 'name', 'account.change', 'account.name'))}
${renderItem(language.text('account.email'), renderAddress(user.email), view.hasEmail && renderAccountLink(view, 'email', 'account.change', 'account.email'), undefined, 'email')}${
  groups.length > 0 &&
  html`
${renderItem(language.text('account.groups'), isolateAll(groups, ' · '))}`
}`,
  );
}

function renderWays(view: AccountView): Html {
  const { hasEmail, language, sections, user } = view;
  return renderAccountPanel(
    'ways',
    language.text('account.ways'),
    html`${sections.map(({ ways }) => html`${ways}\n`)}${hasEmail && renderItem(language.text('account.code'), language.html('account.code.text', { email: renderAddress(user.email) }))}`,
    html`<div class="actions">${sections.map(({ buttons }) => html`${buttons}\n`)}</div>`,
  );
}

function renderSessions(view: AccountView): Html {
  const { language, sessions } = view;
  return renderAccountPanel(
    'where',
    language.text('account.sessions'),
    html`${sessions.map((session) => renderSession(view, session))}
${sessions.length === 0 && html`<p class="item soft">${language.text('account.sessions.none')}</p>`}`,
    sessions.length > 0 && renderButton(view, 'sessions/end-all', 'account.signOutEverywhere', 'danger'),
  );
}

function renderSession(view: AccountView, session: AccountSession): Html {
  const { applications, browserDigest, language, providers, user } = view;
  const { applicationId, applicationName, userAgent, beganAt, sid } = session;
  const since = language.html('account.since', { date: language.date(beganAt) });
  const application = applications.find(({ id }) => id === applicationId);
  return renderItem(
    renderName(applicationName, application),
    html`${isolate(describeBrowser(userAgent))} · ${renderSignIn(language, session, providers, [since])}`,
    html`<form method="post" action="${view.path}/sessions/end">${renderToken(view)}<input type="hidden" name="application" value="${applicationId}">${
      sid !== undefined && html`<input type="hidden" name="sid" value="${sid}">`
    }
<button class="second">${language.text('account.signOut')}<span class="hide"> ${isolate(applicationName)}</span></button></form>`,
    renderDevice(language, isOfBrowser(session, user.id, browserDigest)),
    toSignInRow(session.authenticatedAt),
  );
}

function renderData(view: AccountView): Html {
  const { language, mayDelete } = view;
  return renderAccountPanel(
    'data',
    language.text('account.data'),
    html`${renderItem(language.text('account.export'), language.text('account.export.text'), html`<a class="button second" href="${view.path}/data">${language.text('account.export.submit')}</a>`)}
${
  mayDelete &&
  renderItem(
    language.text('account.delete'),
    language.text('account.delete.text'),
    renderAccountLink(view, 'delete', 'account.delete.open', undefined, 'danger'),
  )
}`,
  );
}

function renderButton(view: AccountFormView, to: string, label: TextKey, kind: string): Html {
  return html`<form method="post" action="${view.path}/${to}">${renderToken(view)}<button class="${kind}">${view.language.text(label)}</button></form>`;
}

/** The data of the account page itself. */
interface AccountView extends AccountFormView {
  readonly user: User;
  /** The names of the user's groups. */
  readonly groups: readonly string[];
  /** The applications that the user may enter. */
  readonly applications: readonly UserAccess[];
  readonly sessions: readonly AccountSession[];
  readonly sections: readonly ShownSection[];
  /** Identifies this browser in sessions. */
  readonly browserDigest: Buffer;
  readonly providers: { nameOf(providerId: string): string };
  /** The text that confirms a change, or an empty string. */
  readonly note: string;
  /** Whether the last sign-in is recent enough for changes. */
  readonly isFresh: boolean;
  readonly mayDelete: boolean;
  /** Whether people can sign in with codes. */
  readonly hasEmail: boolean;
}
