/** The pages of the login: documents with inline style and script. */
import { readFileSync } from 'node:fs';
import type { LoginMethod } from '../config/login-methods.ts';
import { Html, html, htmlDocument } from '../http/html.ts';

export interface PageContent {
  readonly title: string;
  readonly body: Html;
  /** Runs in addition to `page.js`. */
  readonly script?: string;
}

const style = new Html(read('../api/base.css') + read('page.css'));
const commonScript = new Html(read('page.js'));

/** The data of pages with forms. */
export interface FormView {
  readonly applicationName: string;
  readonly allowSignUp: boolean;
  readonly methods: readonly LoginMethod[];
  /** The address that the user entered before. */
  readonly email: string;
  readonly alert: string;
  readonly loginIntentId: string;
  /** The path of the login page in its public URL. */
  readonly path: string;
  /** Binds the form to the browser's cookie. */
  readonly formToken: string;
  /** Whether the user with the e-mail address gets the wallet that has signed before. */
  readonly linksWallet: boolean;
}

export function renderChoice(view: FormView): PageContent {
  const hasEmail = view.methods.includes('email');
  const hasWallet = view.methods.includes('wallet');
  return {
    title: `Sign in to ${view.applicationName}`,
    body: html`<h1>Sign in to ${view.applicationName}</h1>
${renderAlert(view.alert)}
${hasEmail && renderEmail(view, 'email')}
${hasEmail && hasWallet && html`<div class="or" aria-hidden="true">or</div>`}
${
  hasWallet &&
  html`<form id="wallet" method="post" action="${view.path}/wallet" data-challenge="${view.path}/wallet/challenge" hidden>
${renderHidden(view)}<input type="hidden" name="address"><input type="hidden" name="signature">
<button class="${hasEmail ? 'second' : ''}">Continue with a wallet</button>
</form>
<noscript><p>To sign in with a wallet, allow JavaScript for this page.</p></noscript>`
}
${renderCancel(view)}`,
  };
}

/** Renders the form for the e-mail address to which a new wallet is linked. */
export function renderLink(view: FormView): PageContent {
  return {
    title: `Link your wallet - ${view.applicationName}`,
    body: html`<h1>Your wallet is new here</h1>
${renderAlert(view.alert)}
<p>Enter your e-mail address to link the wallet to your account, in place of any other, or to create one.</p>
${renderEmail(view, 'link')}
${renderOtherWay(view)}`,
  };
}

/** Renders the form for the name of a new user. */
export function renderName(view: FormView): PageContent {
  return {
    title: `Your name - ${view.applicationName}`,
    body: html`<h1>Welcome</h1>
${renderAlert(view.alert)}
<form method="post" action="${view.path}/name" data-busy="Signing up…">
${renderHidden(view)}<label for="name">Your name</label>
<input id="name" name="name" autocomplete="name" required maxlength="255"${new Html(view.alert ? '' : ' autofocus')}>
<button>Sign up</button>
</form>
${renderCancel(view)}`,
  };
}

/** Renders the form for the code from the e-mail. */
export function renderCode(view: FormView): PageContent {
  return {
    title: `Enter your code - ${view.applicationName}`,
    body: html`<h1>Check your e-mail</h1>
${renderAlert(view.alert)}
<p>${
      view.allowSignUp
        ? html`A code is on its way to <strong>${view.email}</strong>.`
        : html`If <strong>${view.email}</strong> belongs to an account, a code is on its way there.`
    } It signs you in to
${view.applicationName} and is valid for 10 minutes.</p>
<form method="post" action="${view.path}/code" data-busy="Signing in…">
${renderHidden(view)}<input type="hidden" name="email" value="${view.email}">
<label for="code">Code</label>
<input id="code" class="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="\\s*(\\d\\s*){6,8}" title="The digits from the e-mail" required maxlength="20"${new Html(view.alert ? '' : ' autofocus')}>
<button>Sign in</button>
</form>
<form method="post" action="${view.path}/email/again" data-busy="Sending the code…">
${renderHidden(view)}<input type="hidden" name="email" value="${view.email}">
<button class="second">Send again</button>
</form>
${renderOtherWay(view)}`,
  };
}

export function renderErrorPage({ title, advice }: { title: string; advice: string }): PageContent {
  return { title, body: html`<h1>${title}</h1>\n${renderAlert()}\n<p>${advice}</p>` };
}

/** The content security policy allows only style and scripts with the nonce. */
export function renderDocument({ title, body, script = '' }: PageContent, nonce: string): string {
  const head = html`<style nonce="${nonce}">${style}</style>`;
  const content = html`<main class="card">
${body}
<p class="status" role="status"></p>
</main>
<script type="module" nonce="${nonce}">${commonScript}</script>
${script && html`<script type="module" nonce="${nonce}">${new Html(script)}</script>`}`;
  return htmlDocument(title, head, content);
}

function renderAlert(text?: string): Html {
  return html`<p class="alert" role="alert" tabindex="-1">${text}</p>`;
}

function renderEmail(view: FormView, action: 'email' | 'link'): Html {
  return html`<form method="post" action="${view.path}/${action}" data-busy="Sending the code…">
${renderHidden(view)}<label for="email">E-mail address</label>
<input id="email" name="email" type="email" autocomplete="email" required maxlength="254" value="${view.email}">
<button>Continue with e-mail</button>
</form>`;
}

function renderOtherWay(view: FormView): Html {
  return html`<form method="get" action="${view.path}"><input type="hidden" name="intent" value="${view.loginIntentId}">
<button class="third">Sign in another way</button>
</form>`;
}

function renderHidden({ loginIntentId, formToken, linksWallet }: FormView): Html {
  return html`<input type="hidden" name="intent" value="${loginIntentId}"><input type="hidden" name="token" value="${formToken}">
${linksWallet && html`<input type="hidden" name="link" value="1">`}`;
}

function renderCancel(view: FormView): Html {
  return html`<form method="post" action="${view.path}/cancel" data-busy="Going back…">
${renderHidden(view)}<button class="third">Cancel</button>
</form>`;
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
