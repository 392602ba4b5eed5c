/** The pages of one application of the demo. Like any application, it uses only the REST API of Usher. */
import { parseCookie, stringifySetCookie } from 'cookie';
import { headerOf } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { sendPage, sendRedirect } from '../../login-page/pages/responses.ts';
import { type DemoApplication, SESSION_IDLE_SECONDS } from './applications.ts';
import { type ActiveSession, renderHome, renderMessage, renderProfile, type SiteView } from './pages.ts';
import { createState, isOwnState } from './state.ts';

export type Actions = Readonly<Record<string, (context: HttpContext) => Promise<void>>>;

interface Reply<Data> {
  readonly message: string;
  /** Absent if the call failed. */
  readonly data?: Data;
}

/** Calls Usher with POST if there is a body, otherwise with GET. The path is relative to its URL. */
export type CallUsher = <Data>(path: string, body?: object) => Promise<Reply<Data>>;

interface Session {
  readonly id: string;
}

export function createCall(url: string, apiKey: string): CallUsher {
  return async (path, body) => {
    const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
    const reply = await fetch(url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    return JSON.parse(await reply.text());
  };
}

export function createSite(
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
