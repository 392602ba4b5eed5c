/** The demo application. Like any application, it uses only the REST API of Usher. */
import { parseCookie, stringifySetCookie } from 'cookie';
import { verifyWebhook, WebhookVerificationError } from '../client/verify-webhook.ts';
import { type HttpContext, headerOf, type PathHandler } from '../http/http-context.ts';
import { readBody } from '../http/read-body.ts';
import { sendJson } from '../http/response.ts';
import { sendPage, sendRedirect } from '../login-page/responses.ts';
import type { Demo } from './demo.ts';
import { type ActiveSession, renderHome, renderMessage, renderProfile } from './pages.ts';
import { createState, isOwnState } from './state.ts';
import { RECEIVER_PATH } from './webhook.ts';

const COOKIE = 'usher-demo-session';
const MAX_WEBHOOK_BYTES = 256 * 1024;
const WEBHOOK_TIMEOUT_MS = 5_000;

interface Reply<Data> {
  readonly message: string;
  /** Absent if the call failed. */
  readonly data?: Data;
}

interface Session {
  readonly id: string;
}

/** `url` is how the demo application reaches Usher; `print` writes to the terminal. */
export function createDemoApplication(demo: Demo, url: string, print: (text: string) => void): PathHandler {
  const { apiKey, clientId, redirectUri, webhookId } = demo;

  /** Uses POST if there is a body, else GET. */
  async function callUsher<Data>(path: string, body?: object): Promise<Reply<Data>> {
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    const reply = await fetch(url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    return JSON.parse(await reply.text());
  }

  const actions: Readonly<Record<string, (context: HttpContext) => Promise<void>>> = {
    async 'GET /demo'(context) {
      const sessionId = readSessionId(context);
      const { data } = await callUsher<{ session?: ActiveSession }>('/api/sessions/check', { sessionId });
      sendPage(context, 200, data?.session ? renderProfile(data.session) : renderHome());
    },

    async 'GET /demo/login'(context) {
      const login = { redirectUri, state: createState(apiKey) };
      const path = `/api/oauth/generate-auth-url?clientId=${clientId}`;
      const { message, data } = await callUsher<{ authUrl: string }>(path, login);
      if (data) sendRedirect(context, data.authUrl);
      else sendPage(context, 200, renderMessage('The login did not begin', message));
    },

    async 'GET /demo/callback'(context) {
      const query = new URLSearchParams(context.query);
      if (!isOwnState(apiKey, query.get('state') ?? '')) {
        const message = renderMessage('This login is not ours', 'The demo did not issue its state.');
        return sendPage(context, 200, message);
      }
      if (query.has('error')) return sendPage(context, 200, renderMessage('You cancelled', 'You are not signed in.'));
      const authToken = query.get('authToken');
      const { message, data } = await callUsher<{ session: Session }>('/api/oauth/exchange', { authToken });
      if (!data) return sendPage(context, 200, renderMessage('The exchange failed', message));
      keepSessionId(context, data.session.id);
      sendRedirect(context, '/demo');
    },

    async 'POST /demo/renew'(context) {
      const { data } = await callUsher<Session>('/api/sessions/renew', { sessionId: readSessionId(context) });
      if (data) keepSessionId(context, data.id);
      sendRedirect(context, '/demo');
    },

    async 'POST /demo/sign-out'(context) {
      await callUsher('/api/sessions/revoke', { sessionId: readSessionId(context) });
      keepSessionId(context, '');
      sendRedirect(context, '/demo');
    },

    /** Prints a message that Usher signed. Other receivers should handle each `id` once. */
    async [`POST ${RECEIVER_PATH}`](context) {
      // Reads the signing key each time, because the user may have rotated it.
      const { data: webhook, message } = await callUsher<{ signingKey: string }>(`/api/webhooks/${webhookId}`);
      if (!webhook) throw new Error(message);
      const body = await readBody(context.request, MAX_WEBHOOK_BYTES, performance.now() + WEBHOOK_TIMEOUT_MS);
      try {
        const { type, data } = await verifyWebhook(webhook.signingKey, context.headers, body);
        print(`  WEBHOOK ${type} ${JSON.stringify(data)}\n`);
        sendJson(context, 200, '{}');
      } catch (error) {
        if (!(error instanceof WebhookVerificationError)) throw error;
        sendJson(context, 401, JSON.stringify({ error: error.message }));
      }
    },
  };

  return async (context) => {
    const action = actions[`${context.request.method} ${context.path}`];
    if (!action) return false;
    try {
      await action(context);
    } catch (error) {
      // For example, the TLS certificate may be self-signed, or for another host.
      const { cause = error } = error instanceof Error ? error : {};
      sendPage(context, 502, renderMessage('The demo cannot reach Usher', `${url}: ${cause}`));
    }
    return true;
  };
}

/** Scripts cannot read the cookie, and browsers do not send it with forms of other sites. */
function keepSessionId({ response }: HttpContext, id: string): void {
  const cookie = { name: COOKIE, value: id, path: '/demo', httpOnly: true, sameSite: 'lax' } as const;
  response.appendHeader('set-cookie', stringifySetCookie(cookie));
}

/** Without a cookie, returns an ID that no session has. */
function readSessionId({ request }: HttpContext): string {
  return parseCookie(headerOf(request, 'cookie') ?? '')[COOKIE] || 'none';
}
