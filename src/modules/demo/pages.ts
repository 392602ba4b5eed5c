/** Renders the pages of the demo's applications. */
import { isOwnMethod, OWN_METHODS } from '../../config/login-methods.ts';
import { type Html, html, readStyle } from '../../http/html.ts';
import type { PageContent } from '../../login-page/pages/document.ts';

/** An application of the demo: its path, and its look. */
export interface Site {
  readonly name: string;
  readonly path: string;
  readonly claim: string;
  readonly accentColor: string;
  /** A file in the folder of this one. Without it, the login page shows the first letter of the name. */
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
  /** The account page of Usher. Undefined if people do not sign in at Usher. */
  readonly accountUrl: string | undefined;
  /** The address of a user to sign in as. Undefined unless the terminal shows the codes. */
  readonly email: string | undefined;
  /** The sign-in methods of Usher's login page. */
  readonly methods: readonly string[];
}

/** The part of the reply to a session check that the page shows. */
export interface ActiveSession {
  readonly userId: string;
  readonly user: { readonly email: string; readonly name?: string; readonly walletAddress?: string };
  readonly method: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

const STYLE = readStyle(
  new URL('../../http/styles/brand.css', import.meta.url),
  new URL('../../http/styles/lead.css', import.meta.url),
  new URL('demo.css', import.meta.url),
);
const EITHER = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** Counts down to the end of the session, then reloads the page. Enables the button once the session can be renewed. */
const COUNTDOWN = `
const output = document.querySelector('output');
const renew = document.querySelector('[data-from]');
const tick = () => {
  if (renew?.disabled && Date.parse(renew.dataset.from) < Date.now()) {
    renew.disabled = false;
    document.querySelector('.wait').hidden = true;
  }
  const seconds = Math.round((Date.parse(output.dataset.until) - Date.now()) / 1000);
  // Reloads only if this page has counted down: a browser whose clock is ahead would otherwise reload forever.
  if (seconds < 0) return output.textContent.includes(':') && location.reload();
  output.textContent = Math.floor(seconds / 60) + ':' + String(seconds % 60).padStart(2, '0');
};
tick();
setInterval(tick, 1000);`;

/** Renders the page for a visitor who is not signed in. */
export function renderHome(view: SiteView): PageContent {
  const { claim, email, methods, name, other, path } = view;
  const ways = EITHER.format(
    methods.flatMap((method) => (isOwnMethod(method) ? `a ${OWN_METHODS[method].toLowerCase()}` : [])),
  );
  return renderPage(
    view,
    html`<div>
<h1 class="big">${claim}</h1>
<p class="lead">It sends you to Usher, and Usher tells it who you are.
${email && html`Try it with an address of your own, or as <strong><bdi>${email}</bdi></strong>. Codes appear in the terminal.`}</p>
</div>
<form method="get" action="${path}/login" class="start" data-busy="Going to Usher…"><button>Sign in or sign up</button></form>
${renderSection(
  'what',
  'What will happen',
  html`<ol class="steps">
${renderStep('You go to Usher', html`The ${name} calls ${renderCall('GenerateAuthUrl')} and redirects you.`)}
${renderStep('You sign in there', html`${ways && `With ${ways}. `}The ${name} never sees it.`)}
${renderStep('You come back', html`The ${name} exchanges a token for your profile and a session with ${renderCall('ExchangeToken')}.`)}
</ol>`,
)}
${renderSection(
  'next',
  'What to try next',
  html`${
    methods.includes('passkey') &&
    renderOffer('Save a passkey', 'Usher offers it after the code. Next time, one touch signs you in.')
  }
${renderOffer(`Visit the ${other.name}`, 'It shares sign-ins with this application: one click is enough.', renderButtonLink(other.path, 'Open'))}`,
)}`,
  );
}

/** Renders the page for a visitor who is signed in. */
export function renderProfile(view: SiteView, session: ActiveSession, now: Date): PageContent {
  const { accountUrl, name, other, path } = view;
  const { user, userId, method } = session;
  const shownName = user.name ?? user.email;
  const page = renderPage(
    view,
    html`<div class="bar">
<div class="person"><span class="mark round" aria-hidden="true">${[...shownName][0]?.toUpperCase()}</span>
<div><h1>Hello, <bdi>${shownName}</bdi></h1>${user.name && html`<p class="soft"><bdi>${user.email}</bdi></p>`}</div></div>
<form method="post" action="${path}/sign-out" data-busy="Signing out…"><button class="second">Sign out</button></form>
</div>
${renderSection(
  'knows',
  `What the ${name} knows`,
  html`<dl class="facts">
${renderFact('User ID', html`<code>${userId}</code>`)}
${user.name && renderFact('Name', html`<bdi>${user.name}</bdi>`)}
${renderFact('E-mail address', html`<bdi>${user.email}</bdi>`)}
${user.walletAddress && renderFact('Wallet', html`<code>${user.walletAddress}</code>`)}
${method && renderFact('Signed in by', html`${isOwnMethod(method) ? OWN_METHODS[method] : method}`)}
</dl>`,
  html`<p>From the reply of ${renderCall('CheckSession', 'SessionService')}.</p>`,
)}
${renderSection(
  'session',
  'The session',
  html`${renderRenewal(path, session, now)}
${renderOffer(`The ${other.name}`, 'Another application. One click signs you in there.', renderButtonLink(other.path, 'Open'))}
${accountUrl && renderOffer('Your account', 'Passkeys, other browsers, your data.', renderButtonLink(accountUrl, 'Manage'))}`,
)}`,
  );
  return { ...page, scripts: [COUNTDOWN] };
}

function renderRenewal(path: string, { createdAt, expiresAt }: ActiveSession, now: Date): Html {
  const half = (Date.parse(createdAt) + Date.parse(expiresAt)) / 2;
  const minutes = Math.ceil((half - now.getTime()) / 60_000);
  const wait = minutes > 0 && html` data-from="${new Date(half).toISOString()}" disabled`;
  return renderOffer(
    html`Ends in <output data-until="${expiresAt}">15 minutes</output>`,
    html`${minutes > 0 && html`<span class="wait">You can renew it in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}. </span>`}A visit within a week renews it, too.`,
    html`<form method="post" action="${path}/renew" data-busy="Renewing…"><button class="second"${wait}>Renew</button></form>`,
  );
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
  const body = html`<header class="bar"><span class="brand"><span class="mark" aria-hidden="true">${name[0]}</span>${name}</span><span class="tag">Made-up application</span></header>
<main class="fields">
${content}
<p class="status small soft" role="status"></p>
</main>`;
  const footer = html`<footer class="small soft">This page belongs to the application, not to Usher. It knows only what the API told
it. <a href="/docs">API reference</a></footer>`;
  return { title: name, application: { accentColor }, layout: 'page', style: STYLE, body, footer };
}

/** HTML that the pages of the demo share. */
function renderSection(id: string, title: string, items: Html, about?: Html): Html {
  return html`<section class="panel" aria-labelledby="${id}">
<header><h2 id="${id}">${title}</h2>${about}</header>
${items}
</section>`;
}

function renderStep(title: string, text: Html): Html {
  return html`<li><h3>${title}</h3><p>${text}</p></li>`;
}

function renderFact(name: string, value: Html): Html {
  return html`<dt>${name}</dt><dd>${value}</dd>`;
}

function renderOffer(name: string | Html, text: string | Html, button?: Html): Html {
  return html`<div class="item"><div><strong>${name}</strong><p>${text}</p></div>${button}</div>`;
}

function renderButtonLink(url: string, text: string): Html {
  return html`<a class="button second" href="${url}">${text}</a>`;
}

function renderCall(name: string, service = 'AuthService'): Html {
  return html`<a href="/docs/${service}#${service}.${name}">${name}</a>`;
}
