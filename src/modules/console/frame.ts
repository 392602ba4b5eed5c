/** Renders the frame around every page: the menu, the search box, and the content. */
import { type Html, html, MARK } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import type { ConsoleRequest } from './console-request.ts';
import { sendDocument } from './responses.ts';
import type { ConsolePage, Section } from './route.ts';
import type { NonOperator } from './signed-in-operator.ts';

const MENU: readonly (readonly [section: Section, path: string, label: string])[] = [
  ['overview', '/', 'Overview'],
  ['users', '/users', 'Users'],
  ['groups', '/groups', 'Groups'],
  ['applications', '/applications', 'Applications'],
  ['audit', '/audit', 'Audit log'],
  ['health', '/health', 'Health'],
];

export function sendFramed({ context, operator }: ConsoleRequest, page: ConsolePage): void {
  const { email, role } = operator;
  const isTeam = role === 'team';
  const menu = isTeam ? MENU.filter(([section]) => section === 'applications') : MENU;
  const { title, status = 200 } = page;
  const body = html`<a class="skip" href="#main">Skip to content</a>
<header class="side tight">
<a class="brand" href="/">${MARK}Usher</a>
<nav aria-label="Console">
<ul class="plain">
${menu.map(([section, path, label]) => renderLink(path, label, page.section === section))}
</ul>
</nav>
<form method="post" action="/sign-out">
<p class="small soft">${isolate(email)}<span class="wide"><br>${role}</span></p>
<button class="second">Sign out</button>
</form>
</header>
<main id="main">
${!isTeam && SEARCH}
${page.body}
</main>`;
  sendDocument(context, { status, title, body });
}

const SEARCH = html`<form class="find tight" role="search" action="/search">
<label class="hide" for="q">Find by address or ID</label>
<input id="q" name="q" type="search" required placeholder="Paste an address, wallet or any ID" autocomplete="off" spellcheck="false">
<button class="second">Find</button>
</form>`;

function renderLink(path: string, label: string, isCurrent: boolean): Html {
  return html`<li><a href="${path}"${isCurrent && html` aria-current="page"`}>${label}</a></li>\n`;
}

/** Sends a page of a single card without a menu, for visitors who are not signed in. */
export function sendCard(context: ConsoleRequest['context'], status: number, title: string, content: Html): void {
  const body = html`<main class="card alone" id="main">
<p class="brand">${MARK}Usher console</p>
<h1>${title}</h1>
${content}
</main>`;
  sendDocument(context, { status, title, body, className: 'single' });
}

/** Tells a user that they are not an operator, or no longer one. `kept` is a form with the values that they had typed. */
export function sendNonOperatorPage(
  context: ConsoleRequest['context'],
  { email, needsPasskey }: NonOperator,
  kept: Html | false = false,
): 'sent' {
  const text = needsPasskey
    ? html`<p>${isolate(email)} has to sign in with a passkey that checks fingerprint, face or PIN.</p>
<p><a class="button" href="/login?passkey">Sign in with a passkey</a></p>`
    : html`<p>${isolate(email)} is not an operator. Somebody with access to the server can add the address to <code>OPERATORS_FILE</code>.</p>`;
  sendCard(
    context,
    403,
    'You cannot use the console',
    html`${text}
${kept}
<form method="post" action="/sign-out"><button>Sign in as somebody else</button></form>`,
  );
  return 'sent';
}
