/** The demo application, as an application of yours might be: it knows Usher by its REST API only. */
import { type HttpContext, headerOf, type PathHandler } from '../http/http-context.ts';
import { sendPage, sendRedirect } from '../login-page/responses.ts';
import type { Demo } from './demo.ts';
import { type ActiveSession, renderHome, renderMessage, renderProfile } from './pages.ts';
import { receiveMessage } from './receive-message.ts';
import { createState, isOwnState } from './state.ts';
import { RECEIVER_PATH } from './webhook.ts';

const COOKIE = 'usher-demo-session';

interface Reply<Data> {
  readonly message: string;
  /** Absent if the call failed. */
  readonly data?: Data;
}

interface Session {
  readonly id: string;
}

/** Calls a path of Usher with the demo's API key: with POST if there is a body. */
type CallUsher = <Data>(path: string, body?: object) => Promise<Reply<Data>>;

type Action = (context: HttpContext, callUsher: CallUsher, demo: Demo, print: (text: string) => void) => Promise<void>;

const ACTIONS: Readonly<Record<string, Action>> = {
  'GET /demo': showSession,
  'GET /demo/login': beginLogin,
  'GET /demo/callback': completeLogin,
  'POST /demo/renew': renewSession,
  'POST /demo/sign-out': signOut,
  [`POST ${RECEIVER_PATH}`]: receive,
};

/** `url` is how the demo application reaches Usher; `print` writes to the terminal. */
export function createDemoApplication(demo: Demo, url: string, print: (text: string) => void): PathHandler {
  const headers = { 'x-api-key': demo.apiKey, 'content-type': 'application/json' };
  const callUsher: CallUsher = async (path, body) => {
    const reply = await fetch(url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
    return JSON.parse(await reply.text());
  };
  return async (context) => {
    const action = ACTIONS[`${context.request.method} ${context.path}`];
    if (!action) return false;
    try {
      await action(context, callUsher, demo, print);
    } catch (error) {
      // For example because the TLS certificate is self-signed or of another host.
      const { cause = error } = error instanceof Error ? error : {};
      sendMessage(context, 'The demo cannot reach Usher', `${url}: ${cause}`, 502);
    }
    return true;
  };
}

async function showSession(context: HttpContext, callUsher: CallUsher): Promise<void> {
  const sessionId = readSessionId(context);
  const { data } = await callUsher<{ session?: ActiveSession }>('/api/sessions/check', { sessionId });
  sendPage(context, 200, (nonce) => (data?.session ? renderProfile(data.session, nonce) : renderHome(nonce)));
}

async function beginLogin(
  context: HttpContext,
  callUsher: CallUsher,
  { apiKey, clientId, redirectUri }: Demo,
): Promise<void> {
  const login = { redirectUri, state: createState(apiKey) };
  const path = `/api/oauth/generate-auth-url?clientId=${clientId}`;
  const { message, data } = await callUsher<{ authUrl: string }>(path, login);
  if (data) sendRedirect(context, data.authUrl);
  else sendMessage(context, 'The login did not begin', message);
}

async function completeLogin(context: HttpContext, callUsher: CallUsher, { apiKey }: Demo): Promise<void> {
  const query = new URLSearchParams(context.query);
  if (!isOwnState(apiKey, query.get('state') ?? '')) {
    sendMessage(context, 'This login is not ours', 'The demo did not issue its state.');
  } else if (query.has('error')) {
    sendMessage(context, 'You cancelled', 'You are not signed in.');
  } else {
    const authToken = query.get('authToken');
    const { message, data } = await callUsher<{ session: Session }>('/api/oauth/exchange', { authToken });
    if (!data) return sendMessage(context, 'The exchange failed', message);
    keepSessionId(context, data.session.id);
    sendRedirect(context, '/demo');
  }
}

async function renewSession(context: HttpContext, callUsher: CallUsher): Promise<void> {
  const { data } = await callUsher<Session>('/api/sessions/renew', { sessionId: readSessionId(context) });
  if (data) keepSessionId(context, data.id);
  sendRedirect(context, '/demo');
}

async function signOut(context: HttpContext, callUsher: CallUsher): Promise<void> {
  await callUsher('/api/sessions/revoke', { sessionId: readSessionId(context) });
  keepSessionId(context, '');
  sendRedirect(context, '/demo');
}

/** Asks for the signing key each time, since a command may have rotated it. */
async function receive(
  context: HttpContext,
  callUsher: CallUsher,
  { webhookId }: Demo,
  print: (text: string) => void,
): Promise<void> {
  const { data, message } = await callUsher<{ signingKey: string }>(`/api/webhooks/${webhookId}`);
  if (!data) throw new Error(message);
  await receiveMessage(context, data.signingKey, print);
}

/** Scripts cannot read the cookie, and forms of other sites do not carry it. */
function keepSessionId({ response }: HttpContext, id: string): void {
  response.appendHeader('set-cookie', `${COOKIE}=${id}; Path=/demo; HttpOnly; SameSite=Lax`);
}

/** Returns an ID that no session has if there is no cookie. */
function readSessionId({ request }: HttpContext): string {
  const [, id] = new RegExp(`(?:^|; )${COOKIE}=([\\w-]+)`).exec(headerOf(request, 'cookie') ?? '') ?? [];
  return id ?? 'none';
}

function sendMessage(context: HttpContext, title: string, text: string, status = 200): void {
  sendPage(context, status, (nonce) => renderMessage(title, text, nonce));
}
