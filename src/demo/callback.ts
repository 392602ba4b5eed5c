/** The demo application's redirect URI: what an application does when the user comes back. */

import type { HttpAdapter, HttpContext } from '../http/http-context.ts';
import { html } from '../login-page/html.ts';
import { renderDocument } from '../login-page/pages.ts';
import { sendPage } from '../login-page/responses.ts';
import type { Demo } from './demo.ts';

/** `url` is where the demo application finds Usher. */
export function createDemoAdapter({ apiKey, state }: Pick<Demo, 'apiKey' | 'state'>, url: string): HttpAdapter {
  return async (exchange) => {
    if (exchange.path !== '/demo/callback') return false;
    const answer = new URLSearchParams(exchange.query);
    const given = answer.get('state') ?? '';
    if (given !== state) {
      showResult(exchange, 'This answer was not meant for us', 'has got back', { state: given });
    } else if (answer.has('error')) {
      showResult(exchange, 'You did not sign in', 'has got back', { error: answer.get('error') });
    } else {
      await showExchange(exchange, apiKey, `${url}/api/oauth/exchange`, answer.get('authToken'));
    }
    return true;
  };
}

async function showExchange(exchange: HttpContext, apiKey: string, url: string, authToken: string | null) {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  try {
    const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ authToken }) });
    const title = reply.ok ? 'You are signed in' : 'The exchange failed';
    showResult(exchange, title, 'has exchanged the auth token for', await reply.json());
  } catch (error) {
    // With a certificate that is not of this host, or that nobody has signed, for one.
    const { cause = error } = error instanceof Error ? error : {};
    showResult(exchange, 'The exchange failed', 'cannot reach Usher', { url, reason: String(cause) });
  }
}

function showResult(exchange: HttpContext, title: string, deed: string, result: unknown): void {
  const body = html`<h1>${title}</h1>
<p>This is the demo application, which ${deed} this:</p>
<pre>${JSON.stringify(result, null, 2)}</pre>`;
  sendPage(exchange, 200, (nonce) => renderDocument(title, body, nonce));
}
