/** What is compared: how users sign in to each server, and how it checks their sessions. */
import { BETTER_AUTH_URL } from '../baselines/better-auth.ts';
import { addressAt, type Fixtures, userAt } from '../fixtures.ts';
import type { Client } from '../load/client.ts';
import type { Facts, Step } from '../scenario.ts';
import type { Inbox } from './inbox.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** Returns who signs in, in a browser without cookies at an address of its own. */
function arrive(client: Client, facts: Facts) {
  client.forgetCookies();
  const number = Number(facts.number);
  return { number, email: userAt(number).email, browser: { 'x-forwarded-for': addressAt(number) } };
}

/** An application begins the login, a browser signs in on the pages, and the application exchanges the token. */
export function createUsherSteps({ apiKey, application }: Fixtures, inbox: Inbox): Step[] {
  const { clientId, redirectUris } = application;
  const api = { ...JSON_TYPE, 'x-api-key': apiKey };
  const checkWith = (name: string, options: { maxStalenessMs?: number }): Step => ({
    name,
    async run(client, { sessionId }) {
      const body = JSON.stringify({ sessionId, ...options });
      const reply = await client.send({ path: '/api/sessions/check', headers: api, body });
      if (!JSON.parse(reply.body).data.active) throw new Error(`Session ${sessionId} has ended`);
      return {};
    },
  });
  const logIn: Step = {
    name: 'login',
    async run(client, facts) {
      const { number, email, browser } = arrive(client, facts);
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
      return { sessionId: JSON.parse(exchanged.body).data.session.id };
    },
  };
  return [logIn, checkWith('check', { maxStalenessMs: 0 }), checkWith('check of an old answer', {})];
}

/** The page of the application sends both forms, and keeps the cookie. */
export function createBetterAuthSteps(inbox: Inbox): Step[] {
  const logIn: Step = {
    name: 'login',
    async run(client, facts) {
      const { email, browser } = arrive(client, facts);
      const headers = { ...JSON_TYPE, origin: BETTER_AUTH_URL, ...browser };
      const post = (path: string, body: object) => client.browse({ path, headers, body: JSON.stringify(body) });

      const received = inbox.receive(email);
      await post('/api/auth/email-otp/send-verification-otp', { email, type: 'sign-in' });
      await post('/api/auth/sign-in/email-otp', { email, otp: await received });
      return { cookie: client.cookie };
    },
  };
  const check: Step = {
    name: 'check',
    async run(client, { cookie = '' }) {
      const reply = await client.send({ path: '/api/auth/get-session', headers: { cookie } });
      if (!JSON.parse(reply.body)?.session) throw new Error('The session has ended');
      return {};
    },
  };
  return [logIn, check];
}
