/** The login page in each of its states: one document with inline style and script. */
import { readFileSync } from 'node:fs';
import type { LoginMethod } from '../config/login-methods.ts';
import { Html, html } from '../http/html.ts';

/** What every form on a page carries. */
export interface FormContext {
  readonly loginIntentId: string;
  /** The path of the login page in its public URL. */
  readonly path: string;
  /** Binds the form to the browser's cookie. */
  readonly formToken: string;
  /** Whether the user of the e-mail address gets the wallet that was proved before. */
  readonly linksWallet: boolean;
}

const style = new Html(read('../api/palette.css') + read('page.css'));
const script = new Html(read('page.js'));

/** What the pages with forms show. */
export interface FormView {
  readonly applicationName: string;
  readonly allowSignUp: boolean;
  readonly methods: readonly LoginMethod[];
  /** As the user typed it before. */
  readonly email: string;
  readonly alert: string;
}

/** Renders the choice of login methods. */
export function renderChoice(form: FormContext, view: FormView, nonce: string): string {
  const hasEmail = view.methods.includes('email');
  const hasWallet = view.methods.includes('wallet');
  return renderDocument(
    `Sign in to ${view.applicationName}`,
    html`<h1>Sign in to ${view.applicationName}</h1>
${renderAlert(view.alert)}
${hasEmail && renderEmail(form, view, 'email')}
${hasEmail && hasWallet && html`<div class="or" aria-hidden="true">or</div>`}
${
  hasWallet &&
  html`<form id="wallet" method="post" action="${form.path}/wallet" data-challenge="${form.path}/wallet/challenge" hidden>
${renderHidden(form)}<input type="hidden" name="address"><input type="hidden" name="signature">
<button class="${hasEmail ? 'second' : ''}">Continue with a wallet</button>
</form>
<noscript><p>To sign in with a wallet, allow JavaScript for this page.</p></noscript>`
}
${renderCancel(form)}`,
    nonce,
  );
}

/** Renders the form for the e-mail address that gets a new wallet. */
export function renderLink(form: FormContext, view: FormView, nonce: string): string {
  return renderDocument(
    `Link your wallet - ${view.applicationName}`,
    html`<h1>Your wallet is new here</h1>
${renderAlert(view.alert)}
<p>Enter your e-mail address to link the wallet to your account, in place of any other, or to create one.</p>
${renderEmail(form, view, 'link')}
${renderOtherWay(form)}`,
    nonce,
  );
}

/** Renders the form for the name of a new user. */
export function renderName(form: FormContext, view: FormView, nonce: string): string {
  return renderDocument(
    `Your name - ${view.applicationName}`,
    html`<h1>Welcome</h1>
${renderAlert(view.alert)}
<form method="post" action="${form.path}/name" data-busy="Signing up…">
${renderHidden(form)}<label for="name">Your name</label>
<input id="name" name="name" autocomplete="name" required maxlength="255"${new Html(view.alert ? '' : ' autofocus')}>
<button>Sign up</button>
</form>
${renderCancel(form)}`,
    nonce,
  );
}

/** Renders the form for the code from the e-mail. */
export function renderCode(form: FormContext, view: FormView, nonce: string): string {
  return renderDocument(
    `Enter your code - ${view.applicationName}`,
    html`<h1>Check your e-mail</h1>
${renderAlert(view.alert)}
<p>${
      view.allowSignUp
        ? html`A code is on its way to <strong>${view.email}</strong>.`
        : html`If <strong>${view.email}</strong> belongs to an account, a code is on its way there.`
    } It signs you in to
${view.applicationName} and is valid for 10 minutes.</p>
<form method="post" action="${form.path}/code" data-busy="Signing in…">
${renderHidden(form)}<input type="hidden" name="email" value="${view.email}">
<label for="code">Code</label>
<input id="code" class="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="\\s*(\\d\\s*){6,8}" title="The digits from the e-mail" required maxlength="20"${new Html(view.alert ? '' : ' autofocus')}>
<button>Sign in</button>
</form>
<form method="post" action="${form.path}/email/again" data-busy="Sending the code…">
${renderHidden(form)}<input type="hidden" name="email" value="${view.email}">
<button class="second">Send again</button>
</form>
${renderOtherWay(form)}`,
    nonce,
  );
}

/** Renders an error with advice. */
export function renderErrorPage(view: { title: string; advice: string }, nonce: string): string {
  return renderDocument(view.title, html`<h1>${view.title}</h1>\n${renderAlert()}\n<p>${view.advice}</p>`, nonce);
}

/** Renders a whole document. */
export function renderDocument(title: string, body: Html, nonce: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">${style}</style>
</head>
<body>
<main>
${body}
<p class="status" role="status"></p>
</main>
<script type="module" nonce="${nonce}">${script}</script>
</body>
</html>
`.text;
}

function renderAlert(text?: string): Html {
  return html`<p class="alert" role="alert" tabindex="-1">${text}</p>`;
}

function renderEmail(form: FormContext, { email }: FormView, action: 'email' | 'link'): Html {
  return html`<form method="post" action="${form.path}/${action}" data-busy="Sending the code…">
${renderHidden(form)}<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="email" required maxlength="254" value="${email}">
<button>Continue with e-mail</button>
</form>`;
}

function renderOtherWay(form: FormContext): Html {
  return html`<form method="get" action="${form.path}"><input type="hidden" name="intent" value="${form.loginIntentId}">
<button class="third">Sign in another way</button>
</form>`;
}

function renderHidden({ loginIntentId, formToken, linksWallet }: FormContext): Html {
  return html`<input type="hidden" name="intent" value="${loginIntentId}"><input type="hidden" name="token" value="${formToken}">
${linksWallet && html`<input type="hidden" name="link" value="1">`}`;
}

function renderCancel(form: FormContext): Html {
  return html`<form method="post" action="${form.path}/cancel" data-busy="Going back…">
${renderHidden(form)}<button class="third">Cancel</button>
</form>`;
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
