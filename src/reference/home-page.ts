/** The page at `/`: links for people, and links for programs. */
import { VERSION } from '../config/version.ts';
import { html, MARK } from '../http/html.ts';
import { renderPage, sharedStyle } from './render-page.ts';

interface HomePage {
  readonly hasAccount: boolean;
  readonly hasDemo: boolean;
  readonly hasOidc: boolean;
  /** Undefined for visitors who must not know where the console is. */
  readonly consoleUrl?: string | undefined;
}

/** Links are relative to the path of `PUBLIC_URL`. */
export function renderHomePage({ hasAccount, hasDemo, hasOidc, consoleUrl }: HomePage) {
  const doors = [
    ['docs', 'API reference', 'Quick starts, and every call with a request and a reply to copy.'],
    hasDemo && ['demo', 'Demo application', 'Sign in once and see what an application gets to know.'],
    hasAccount && ['account', 'Your account', 'For people who sign in here: name, passkeys, sessions and your data.'],
    consoleUrl && [consoleUrl, 'Console', 'For operators: users, applications, webhooks and the audit log.'],
  ].filter((door) => Array.isArray(door));
  const machines = [
    ['openapi.json', 'The REST API as a document'],
    ['connect.json', 'All RPCs over Connect with JSON, as a document'],
    hasOidc && ['.well-known/openid-configuration', 'OpenID Connect discovery'],
    ['.well-known/jwks.json', 'Public keys that verify auth tokens'],
    ['healthz', 'Whether the process is alive'],
    ['readyz', 'Whether it accepts calls'],
  ].filter((machine) => Array.isArray(machine));
  return renderPage({
    title: `Usher ${VERSION}`,
    description: 'Signs people in to applications.',
    styles: [...['panels', 'lead'].map(sharedStyle), new URL('home-page.css', import.meta.url)],
    body: html`<div class="page">
<header class="bar"><span class="brand">${MARK}Usher</span></header>
<main class="fields">
<div>
<h1 class="big">Signs people in to your applications</h1>
<p class="lead">${hasAccount ? 'With a passkey, a code by e-mail, a wallet or an account elsewhere.' : 'On the page of whoever runs this server.'} Over REST, Connect, gRPC, gRPC-Web and OpenID Connect, on this port.</p>
</div>
<div class="doors">
${doors.map(
  ([href, title, about]) =>
    html`<a href="${href}" class="card door"><strong>${title}</strong><span>${about}</span></a>\n`,
)}</div>
<section class="panel" aria-labelledby="machines">
<header><h2 id="machines">For machines</h2></header>
${machines.map(([path, about]) => html`<div class="item"><a href="${path}">/${path}</a><span class="soft">${about}</span></div>\n`)}</section>
</main>
<footer class="small soft">Usher ${VERSION}. Looking for a place to sign in? Open the application that you want to use.</footer>
</div>`,
  });
}
