/** The page at a path that nothing serves, for browsers. Programs get the error body. */
import { html } from '../../http/html.ts';
import { type HttpContext, headerOf } from '../../http/http-context.ts';
import { send } from '../../http/response.ts';

/** Must be asked last. Only browsers name HTML as what they want. */
export async function serveNotFoundPage(context: HttpContext): Promise<boolean> {
  const { method } = context.request;
  const isBrowser = /\btext\/html\b/i.test(headerOf(context, 'accept') ?? '');
  if ((method !== 'GET' && method !== 'HEAD') || !isBrowser) return false;
  const { renderPage, sharedStyle } = await import('./render-page.ts');
  const { text, headers } = renderPage({
    title: 'No page here',
    description: 'Signs people in to applications.',
    styles: ['panels', 'lead'].map(sharedStyle),
    body: html`<div class="page">
<main class="fields">
<h1>There is no page at this address</h1>
<p class="lead">Check the address, or open the application that you want to use.</p>
<p class="soft">Request ID: <code>${context.requestId}</code></p>
</main>
</div>`,
  });
  send(context, 404, text, { ...headers, 'cache-control': 'no-store' });
  return true;
}
