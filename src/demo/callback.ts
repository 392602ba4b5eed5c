/** The redirect URI of the demo application: what an application does when the user comes back. */
import type { HttpContext, PathHandler } from '../http/http-context.ts';
import { html } from '../login-page/html.ts';
import { renderDocument } from '../login-page/pages.ts';
import { sendPage } from '../login-page/responses.ts';
import type { Demo } from './demo.ts';

/** `url` is how the demo application reaches Usher. */
export function createDemoCallback({ apiKey, state }: Pick<Demo, 'apiKey' | 'state'>, url: string): PathHandler {
  return async (context) => {
    if (context.path !== '/demo/callback') return false;
    const query = new URLSearchParams(context.query);
    const given = query.get('state') ?? '';
    if (given !== state) {
      sendResult(context, 'This answer was not meant for us', 'received', { state: given });
    } else if (query.has('error')) {
      sendResult(context, 'You did not sign in', 'received', { error: query.get('error') });
    } else {
      await exchange(context, apiKey, `${url}/api/oauth/exchange`, query.get('authToken'));
    }
    return true;
  };
}

async function exchange(context: HttpContext, apiKey: string, url: string, authToken: string | null) {
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  try {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ authToken }) });
    const title = response.ok ? 'You are signed in' : 'The exchange failed';
    sendResult(context, title, 'exchanged the auth token for', await response.json());
  } catch (error) {
    // For example because the TLS certificate is self-signed or of another host.
    const { cause = error } = error instanceof Error ? error : {};
    sendResult(context, 'The exchange failed', 'cannot reach Usher', { url, reason: String(cause) });
  }
}

function sendResult(context: HttpContext, title: string, verb: string, result: unknown): void {
  const body = html`<h1>${title}</h1>
<p>This is the demo application. It ${verb} this:</p>
<pre>${JSON.stringify(result, null, 2)}</pre>`;
  sendPage(context, 200, (nonce) => renderDocument(title, body, nonce));
}
