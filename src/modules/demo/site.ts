/** Routes the requests to the demo: its two applications and the receiver of its webhook. */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import { verifyWebhook, WebhookVerificationError } from '../../client/verify-webhook.ts';
import { headerOf, readBody, sendJson } from '../../http/exchange.ts';
import type { HttpContext, PathHandler } from '../../http/http-context.ts';
import { sendPage, sendRedirect } from '../../login-page/pages/responses.ts';
import { type Demo, type DemoApplication, type DemoParts, RECEIVER_PATH, SESSION_IDLE_SECONDS } from './demo.ts';
import { type ActiveSession, CAFE, DEMO, renderHome, renderMessage, renderProfile, type SiteView } from './pages.ts';

const MAX_WEBHOOK_BYTES = 256 * 1024;
const WEBHOOK_TIMEOUT_MS = 5_000;

type Actions = Readonly<Record<string, (context: HttpContext) => Promise<void>>>;

/** Returns the handler. `print` writes to the terminal. */
export function createDemoApplication(demo: Demo, parts: DemoParts, print: (text: string) => void): PathHandler {
  const { clock, url } = parts;
  const { accountUrl, cafe, methods, webhookId } = demo;
  const email = demo.canSignIn ? demo.email : undefined;
  const shared = { accountUrl, email, methods };
  const callAsDemo = createCall(url, demo.apiKey);
  const actions: Actions = {
    ...createSite(demo, { ...DEMO, ...shared, other: CAFE }, callAsDemo, clock),
    ...createSite(cafe, { ...CAFE, ...shared, other: DEMO }, createCall(url, cafe.apiKey), clock),
    ...createReceiver(webhookId, callAsDemo, print),
  };

  return async (context) => {
    const action = actions[`${context.request.method} ${context.path}`];
    if (!action) return false;
    const otherPlace = findOtherPlace(context, demo);
    if (otherPlace) {
      sendRedirect(context, otherPlace);
      return true;
    }
    try {
      await action(context);
    } catch (error) {
      // Usher may be unreachable at its own URL, for example because its TLS certificate is self-signed or for another host.
      const { cause = error } = Object(error);
      sendPage(context, 502, renderMessage(DEMO, 'The demo cannot reach Usher', `${url}: ${cause}`));
    }
    return true;
  };
}

/**
 * Returns the page at 127.0.0.1 for a browser that opens it at localhost: sign-ins return to 127.0.0.1, and a cookie of
 * one is not sent to the other. Keeps the port, because a tunnel may have another.
 */
function findOtherPlace({ headers, path }: HttpContext, { homeUrl }: Demo): string | undefined {
  if (![DEMO.path, CAFE.path].includes(path)) return undefined;
  const host = String(headers.host ?? headers[':authority'] ?? '');
  const isOther = homeUrl.startsWith('http://127.0.0.1') && /^localhost(:\d+)?$/i.test(host);
  return isOther ? `http://${host.replace(/^localhost/i, '127.0.0.1')}${path}` : undefined;
}

/** Prints messages that Usher signed. Prints repeated messages, too; real receivers should handle each `id` once. */
function createReceiver(webhookId: string, callUsher: CallUsher, print: (text: string) => void): Actions {
  return {
    async [`POST ${RECEIVER_PATH}`](context) {
      // Reads the signing key each time, because the developer may have rotated it.
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
}

interface Reply<Data> {
  readonly message: string;
  /** Absent if the call failed. */
  readonly data?: Data;
}

/** Calls Usher with POST if there is a body, otherwise with GET. The path is relative to its URL. */
type CallUsher = <Data>(path: string, body?: object) => Promise<Reply<Data>>;

interface Session {
  readonly id: string;
}

function createCall(url: string, apiKey: string): CallUsher {
  return async (path, body) => {
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    const reply = await fetch(url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    return JSON.parse(await reply.text());
  };
}

/** Returns the pages of one application. Like any application, it uses only the REST API of Usher. */
function createSite(
  { apiKey, clientId, redirectUri }: DemoApplication & { readonly redirectUri: string },
  view: SiteView,
  callUsher: CallUsher,
  clock: () => Date,
): Actions {
  const { path } = view;
  const cookie = { name: `usher-${path.split('/').at(-1)}-session`, path, httpOnly: true, sameSite: 'lax' } as const;

  const showMessage = (context: HttpContext, title: string, text: string) =>
    sendPage(context, 200, renderMessage(view, title, text));

  /** Stores the ID in a cookie that scripts cannot read, and that browsers do not send with forms of other sites. */
  function keepSessionId({ response }: HttpContext, id: string): void {
    const maxAge = id ? SESSION_IDLE_SECONDS : 0;
    response.appendHeader('set-cookie', stringifySetCookie({ ...cookie, value: id, maxAge }));
  }

  /** Returns the session ID of the cookie, or without one an ID that no session has. */
  function readSessionId({ request }: HttpContext): string {
    return parseCookie(headerOf(request, 'cookie') ?? '')[cookie.name] || 'none';
  }

  async function findSession(sessionId: string): Promise<ActiveSession | undefined> {
    const { data } = await callUsher<{ session?: ActiveSession }>('/api/sessions/check', { sessionId });
    return data?.session;
  }

  /** Renews the session, even if it has expired, and returns it. */
  async function renew(context: HttpContext): Promise<ActiveSession | undefined> {
    const { data } = await callUsher<Session>('/api/sessions/renew', { sessionId: readSessionId(context) });
    if (!data) return undefined;
    keepSessionId(context, data.id);
    return findSession(data.id);
  }

  return {
    async [`GET ${path}`](context) {
      const session = (await findSession(readSessionId(context))) ?? (await renew(context));
      sendPage(context, 200, session ? renderProfile(view, session, clock()) : renderHome(view));
    },

    async [`GET ${path}/login`](context) {
      const login = { redirectUri, state: createState(apiKey) };
      const generate = `/api/oauth/generate-auth-url?clientId=${clientId}`;
      const { message, data } = await callUsher<{ authUrl: string }>(generate, login);
      if (data) sendRedirect(context, data.authUrl);
      else showMessage(context, 'The login did not begin', message);
    },

    async [`GET ${path}/callback`](context) {
      const query = new URLSearchParams(context.query);
      if (!isOwnState(apiKey, query.get('state') ?? '')) {
        return showMessage(context, 'This login is not ours', 'Its state was not issued by the demo.');
      }
      if (query.has('error')) return showMessage(context, 'You cancelled', 'You are not signed in.');
      const authToken = query.get('authToken');
      const { message, data } = await callUsher<{ session: Session }>('/api/oauth/exchange', { authToken });
      if (!data) return showMessage(context, 'The exchange failed', message);
      keepSessionId(context, data.session.id);
      sendRedirect(context, path);
    },

    async [`POST ${path}/renew`](context) {
      await renew(context);
      sendRedirect(context, path);
    },

    async [`POST ${path}/sign-out`](context) {
      await callUsher('/api/sessions/revoke', { sessionId: readSessionId(context) });
      keepSessionId(context, '');
      sendRedirect(context, path);
    },
  };
}

/** Returns the `state` of a login. The demo signs it, so that it has none to keep. */
export function createState(apiKey: string): string {
  const random = randomBytes(9).toString('base64url');
  return `${random}.${sign(apiKey, random)}`;
}

function isOwnState(apiKey: string, state: string): boolean {
  const [random = ''] = state.split('.');
  const [given, expected] = [Buffer.from(state), Buffer.from(`${random}.${sign(apiKey, random)}`)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function sign(apiKey: string, random: string): string {
  return createHmac('sha256', apiKey).update(`state ${random}`).digest('base64url').slice(0, 22);
}
