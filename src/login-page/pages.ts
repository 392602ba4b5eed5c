/** The login page in each of its states: one document with inline style and script. */
import { readFileSync } from 'node:fs';
import type { LoginMethod } from '../config/login-methods.ts';
import { Html, html } from './html.ts';

/** What every form on a page carries. */
export interface FormContext {
  readonly loginIntentId: string;
  /** The path of the login page in its public URL. */
  readonly path: string;
  /** Binds the form to the browser's cookie. */
  readonly formToken: string;
}

const style = new Html(readFileSync(new URL('page.css', import.meta.url), 'utf8'));
const script = new Html(readFileSync(new URL('page.js', import.meta.url), 'utf8'));

/** Renders the choice of login methods. */
export function renderChoice(
  form: FormContext,
  view: { applicationName: string; methods: readonly LoginMethod[]; email?: string; alert?: string },
  nonce: string,
): string {
  const hasEmail = view.methods.includes('email');
  const hasWallet = view.methods.includes('wallet');
  return renderDocument(
    `Sign in to ${view.applicationName}`,
    html`<h1>Sign in to ${view.applicationName}</h1>
${renderAlert(view.alert)}
${
  hasEmail &&
  html`<form method="post" action="${form.path}/email" data-busy="Sending the code…">
${renderHidden(form)}<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="email" required maxlength="254" value="${view.email}">
<button>Continue with e-mail</button>
</form>`
}
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

/** Renders the form for the code from the e-mail. */
export function renderCode(
  form: FormContext,
  view: { applicationName: string; email: string; alert?: string },
  nonce: string,
): string {
  return renderDocument(
    `Enter your code - ${view.applicationName}`,
    html`<h1>Check your e-mail</h1>
${renderAlert(view.alert)}
<p>If <strong>${view.email}</strong> belongs to an account, a code is on its way there. It signs you in to
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
<form method="get" action="${form.path}"><input type="hidden" name="intent" value="${form.loginIntentId}">
<button class="third">Sign in another way</button>
</form>`,
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

function renderHidden({ loginIntentId, formToken }: FormContext): Html {
  return html`<input type="hidden" name="intent" value="${loginIntentId}"><input type="hidden" name="token" value="${formToken}">
`;
}

function renderCancel(form: FormContext): Html {
  return html`<form method="post" action="${form.path}/cancel" data-busy="Going back…">
${renderHidden(form)}<button class="third">Cancel</button>
</form>`;
}
