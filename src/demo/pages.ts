import { html } from '../http/html.ts';
import type { PageContent } from '../login-page/pages/document.ts';

/** The part of the reply to a session check that the page shows. */
export interface ActiveSession {
  readonly user: { readonly email: string; readonly name?: string; readonly walletAddress?: string };
  readonly method: string;
  readonly expiresAt: string;
}

/** Counts down to the end of the session, and then reloads the page. */
const COUNTDOWN = `
const output = document.querySelector('output');
const tick = () => {
  const seconds = Math.round((Date.parse(output.dataset.until) - Date.now()) / 1000);
  if (seconds < 0) location.assign('/demo');
  else output.textContent = Math.floor(seconds / 60) + ':' + String(seconds % 60).padStart(2, '0');
};
tick();
setInterval(tick, 1000);`;

/** Renders the page for a visitor who is not signed in. */
export function renderHome(): PageContent {
  const body = html`<h1>Demo</h1>
<p>This application knows its users from Usher.</p>
<form method="get" action="/demo/login" data-busy="Going to Usher…"><button>Sign in or sign up</button></form>`;
  return { title: 'Demo', body };
}

export function renderProfile({ user, method, expiresAt }: ActiveSession): PageContent {
  const body = html`<h1>Hello, ${user.name ?? user.email}</h1>
<p>E-mail address: <strong>${user.email}</strong></p>
${user.name && html`<p>Name: <strong>${user.name}</strong></p>`}
${user.walletAddress && html`<p>Wallet: <strong>${user.walletAddress}</strong></p>`}
${method && html`<p>Signed in by: <strong>${method}</strong></p>`}
<p>The session ends in <strong><output data-until="${expiresAt}">15 minutes</output></strong>. It can be renewed when
half of its time has passed.</p>
<form method="post" action="/demo/renew" data-busy="Renewing…"><button>Renew</button></form>
<form method="post" action="/demo/sign-out" data-busy="Signing out…"><button class="second">Sign out</button></form>`;
  return { title: 'Demo', body, scripts: [COUNTDOWN] };
}

export function renderMessage(title: string, text: string): PageContent {
  const body = html`<h1>${title}</h1>
<p>${text}</p>
<form method="get" action="/demo"><button class="second">Back to the demo</button></form>`;
  return { title, body };
}
