/** The pages of the demo's applications. */
import { type Html, html } from '../http/html.ts';
import type { PageContent } from '../login-page/pages/document.ts';

/** An application of the demo, as its pages show it. */
export interface Site {
  readonly name: string;
  readonly path: string;
  readonly claim: string;
  readonly accentColor: string;
  /** A file beside this one. Without one, the login page shows the first letter of the name. */
  readonly logo?: string;
}

export const DEMO: Site = {
  name: 'Demo',
  path: '/demo',
  claim: 'An application that has no passwords',
  accentColor: '#3a5bd9',
  logo: 'logo.png',
};
export const CAFE: Site = {
  name: 'Café',
  path: '/demo/cafe',
  claim: 'Another application with the same people',
  accentColor: '#8a4b1c',
};

export interface SiteView extends Site {
  /** The application that shares its sign-ins with this one. */
  readonly other: Site;
  /** Where people find their account. Undefined if they sign in on a page of another. */
  readonly accountUrl: string | undefined;
  /** A user to sign in as. Undefined unless the terminal shows the codes. */
  readonly email: string | undefined;
}

/** The part of the reply to a session check that the page shows. */
export interface ActiveSession {
  readonly user: { readonly email: string; readonly name?: string; readonly walletAddress?: string };
  readonly method: string;
  readonly expiresAt: string;
}

/** The other methods are words already. */
const METHODS: Readonly<Record<string, string>> = { email: 'code by e-mail', page: 'another page' };

/** Counts down to the end of the session, and then reloads the page. */
const COUNTDOWN = `
const output = document.querySelector('output');
const tick = () => {
  const seconds = Math.round((Date.parse(output.dataset.until) - Date.now()) / 1000);
  // A clock that is ahead would reload for ever.
  if (seconds < 0) return output.textContent.includes(':') && location.reload();
  output.textContent = Math.floor(seconds / 60) + ':' + String(seconds % 60).padStart(2, '0');
};
tick();
setInterval(tick, 1000);`;

/** Renders the page for a visitor who is not signed in. */
export function renderHome(view: SiteView): PageContent {
  const { claim, email, other, path } = view;
  return renderPage(
    view,
    html`<div>
<h1>${claim}</h1>
<p>It sends you to Usher and learns who you are.
${email && html`Try it with an address of your own, or as <strong><bdi>${email}</bdi></strong>. Codes appear in the terminal.`}</p>
</div>
<form method="get" action="${path}/login" data-busy="Going to Usher…"><button>Sign in or sign up</button></form>
${renderPanel(
  'what',
  'What to try',
  html`${renderItem('Save a passkey', 'Usher offers it after the code. Next time, one touch signs you in.')}
${renderItem(`Visit the ${other.name}`, 'It shares sign-ins with this application: one click is enough.', renderLink(other.path, 'Open'))}`,
)}`,
  );
}

export function renderProfile(view: SiteView, { user, method, expiresAt }: ActiveSession): PageContent {
  const { accountUrl, other, path } = view;
  const page = renderPage(
    view,
    html`<div class="bar">
<h1>Hello, <bdi>${user.name ?? user.email}</bdi></h1>
<form method="post" action="${path}/sign-out" data-busy="Signing out…"><button class="second">Sign out</button></form>
</div>
${renderPanel(
  'knows',
  `What the ${view.name} knows`,
  html`${user.name && renderItem('Name', html`<bdi>${user.name}</bdi>`)}
${renderItem('E-mail address', html`<bdi>${user.email}</bdi>`)}
${user.walletAddress && renderItem('Wallet', user.walletAddress)}
${method && renderItem('Signed in by', METHODS[method] ?? method)}`,
)}
${renderPanel(
  'session',
  'The session',
  html`${renderItem(
    html`Ends in <output data-until="${expiresAt}">15 minutes</output>`,
    'It can be renewed when half of its time has passed. A visit within a week renews it, too.',
    html`<form method="post" action="${path}/renew" data-busy="Renewing…"><button class="second">Renew</button></form>`,
  )}
${renderItem(`The ${other.name}`, 'Another application. One click signs you in there.', renderLink(other.path, 'Open'))}
${accountUrl && renderItem('Your account', 'Passkeys, sessions and your data.', renderLink(accountUrl, 'Manage'))}`,
)}`,
  );
  return { ...page, scripts: [COUNTDOWN] };
}

export function renderMessage(site: Site, title: string, text: string): PageContent {
  const { name, path } = site;
  return renderPage(
    site,
    html`<div>
<h1>${title}</h1>
<p>${text}</p>
</div>
<form method="get" action="${path}"><button class="second">Back to the ${name}</button></form>`,
  );
}

function renderPage({ name, accentColor }: Site, content: Html): PageContent {
  const body = html`<header class="bar"><strong>${name}</strong><span class="tag">Made-up application</span></header>
<main class="fields">
${content}
<p class="status small soft" role="status"></p>
</main>`;
  const footer = html`<footer class="small soft">This page belongs to the application, not to Usher. It knows only what the API told
it. <a href="/docs">API reference</a></footer>`;
  return { title: name, application: { accentColor }, layout: 'page', body, footer };
}

function renderPanel(id: string, title: string, items: Html): Html {
  return html`<section class="panel" aria-labelledby="${id}">
<header><h2 id="${id}">${title}</h2></header>
${items}
</section>`;
}

function renderItem(name: string | Html, text: string | Html, act?: Html): Html {
  return html`<div class="item"><div><strong>${name}</strong><p>${text}</p></div>${act}</div>`;
}

function renderLink(url: string, text: string): Html {
  return html`<a class="button second" href="${url}">${text}</a>`;
}
