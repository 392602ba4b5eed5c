/** What is compared: how users sign in to each server, and how it checks their sessions. */
import { BETTER_AUTH_URL } from '../baselines/better-auth.ts';
import { addressAt, type Fixtures, userAt } from '../fixtures.ts';
import type { Client } from '../load/client.ts';
import type { Inbox } from './inbox.ts';

/** What the server knows a session by. */
type SessionKey = string;

export type CheckSession = (client: Client, key: SessionKey) => Promise<void>;

export interface Subject {
  /** Signs a user in from another address of the internet. */
  logIn(client: Client, number: number): Promise<SessionKey>;
  /** Each rejects if the session has ended. */
  readonly checks: Readonly<Record<string, CheckSession>>;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** An application begins the login, a browser signs in on the pages, and the application exchanges the token. */
export function createUsherSubject({ apiKey, application }: Fixtures, inbox: Inbox) {
  const { clientId, redirectUris } = application;
  const api = { ...JSON_TYPE, 'x-api-key': apiKey };
  const checkWith =
    (options: { maxStalenessMs?: number }): CheckSession =>
    async (client, sessionId) => {
      const body = JSON.stringify({ sessionId, ...options });
      const reply = await client.send({ path: '/api/sessions/check', headers: api, body });
      if (!JSON.parse(reply.body).data.active) throw new Error(`Session ${sessionId} has ended`);
    };
  return {
    async logIn(client, number) {
      client.forgetCookies();
      const { email } = userAt(number);
      const browser = { 'x-forwarded-for': addressAt(number) };
      const submit = (path: string, fields: Record<string, string>) =>
        client.browse(
          {
            path,
            headers: { ...browser, 'content-type': 'application/x-www-form-urlencoded' },
            body: new URLSearchParams(fields).toString(),
          },
          303,
        );

      const begun = await client.send({
        path: `/api/oauth/generate-auth-url?clientId=${clientId}`,
        headers: api,
        body: JSON.stringify({ redirectUri: redirectUris[1], state: `state-of-a-request-${number}` }),
      });
      const { authUrl, loginIntentId: intent } = JSON.parse(begun.body).data;
      const { pathname, search } = new URL(authUrl);
      const page = await client.browse({ path: pathname + search, headers: browser });
      const token = / name="token" value="([^"]*)"/.exec(page.body)?.[1] ?? '';

      const received = inbox.receive(email);
      const asked = await submit('/login/email', { intent, token, email });
      await client.browse({ path: asked.headers.location ?? '', headers: browser });
      const completed = await submit('/login/code', { intent, token, email, code: await received });
      const authToken = new URL(completed.headers.location ?? '').searchParams.get('authToken');
      const exchanged = await client.send({
        path: '/api/oauth/exchange',
        headers: api,
        body: JSON.stringify({ authToken }),
      });
      return JSON.parse(exchanged.body).data.session.id;
    },
    checks: { fresh: checkWith({ maxStalenessMs: 0 }), stale: checkWith({}) },
  } satisfies Subject;
}

/** The page of the application sends both forms, and keeps the cookie. */
export function createBetterAuthSubject(inbox: Inbox) {
  const browser = { ...JSON_TYPE, origin: BETTER_AUTH_URL };
  return {
    async logIn(client, number) {
      client.forgetCookies();
      const { email } = userAt(number);
      const headers = { ...browser, 'x-forwarded-for': addressAt(number) };
      const post = (path: string, body: object) => client.browse({ path, headers, body: JSON.stringify(body) });

      const received = inbox.receive(email);
      await post('/api/auth/email-otp/send-verification-otp', { email, type: 'sign-in' });
      await post('/api/auth/sign-in/email-otp', { email, otp: await received });
      return client.cookie;
    },
    checks: {
      fresh: async (client, cookie) => {
        const reply = await client.send({ path: '/api/auth/get-session', headers: { cookie } });
        if (!JSON.parse(reply.body)?.session) throw new Error('The session has ended');
      },
    },
  } satisfies Subject;
}
