/** The page at `/`: where people and machines go from here. */
import { VERSION } from '../../config/version.ts';
import { html } from '../../http/html.ts';
import { MARK } from '../../http/mark.ts';
import { renderPage, sharedStyle } from './render-page.ts';

interface Doors {
  readonly hasAccount: boolean;
  readonly hasDemo: boolean;
}

const DOORS = [
  ['docs', 'API reference', 'Quick starts, and every call with a request and a reply to copy.'],
  ['demo', 'Demo application', 'Sign in once and see what an application gets to know.'],
  ['account', 'Your account', 'For people who sign in here: name, passkeys, sessions and your data.'],
] as const;

const MACHINES = [
  ['openapi.json', 'The REST API as a document'],
  ['connect.json', 'All RPCs, over Connect with JSON, likewise'],
  ['.well-known/jwks.json', 'Public keys that verify auth tokens'],
  ['healthz', 'Whether the process lives'],
  ['readyz', 'Whether it takes calls'],
] as const;

/** Links are relative to the path of `PUBLIC_URL`. */
export function renderHomePage({ hasAccount, hasDemo }: Doors) {
  const isOpen = { docs: true, demo: hasDemo, account: hasAccount };
  return renderPage({
    title: `Usher ${VERSION}`,
    description: 'Signs people in to applications.',
    styles: [sharedStyle('panels'), new URL('home-page.css', import.meta.url)],
    body: html`<div class="page">
<header class="bar"><span class="brand">${MARK}Usher</span></header>
<main class="fields">
<div>
<h1>Signs people in to your applications</h1>
<p class="lead">With a passkey, a code by e-mail, a wallet or an account elsewhere. Over REST, Connect, gRPC, gRPC-Web and OpenID Connect, on this port.</p>
</div>
<div class="doors">
${DOORS.filter(([path]) => isOpen[path]).map(
  ([path, title, about]) =>
    html`<a href="${path}" class="card door"><strong>${title}</strong><span>${about}</span></a>\n`,
)}</div>
<section class="panel" aria-labelledby="machines">
<header><h2 id="machines">For machines</h2></header>
${MACHINES.map(([path, about]) => html`<div class="item"><a href="${path}">/${path}</a><span class="soft">${about}</span></div>\n`)}</section>
</main>
<footer class="small soft">Usher ${VERSION}. Looking for a place to sign in? Open the application that you want to use.</footer>
</div>`,
  });
}
