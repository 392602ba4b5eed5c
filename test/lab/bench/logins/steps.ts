/** The requests of a login by code. */
import { setTimeout as sleep } from 'node:timers/promises';
import { addressAt, type Fixtures, userAt } from '../fixtures.ts';
import type { Client } from '../load/client.ts';
import type { Facts, Step } from '../scenario.ts';

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** The codes that servers have sent, by address. */
export const codes = new Map<string, string>();

interface Sent {
  readonly path: string;
  readonly type?: typeof FORM | typeof JSON_TYPE;
  readonly fields?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends what the browser of a user sends. Returns the answer, with the cookies that the browser then has. */
async function browse(client: Client, facts: Facts, { path, type, fields, headers }: Sent, status = 200) {
  const body = type === FORM ? new URLSearchParams({ ...fields }).toString() : fields && JSON.stringify(fields);
  const sent = { ...headers, cookie: facts.cookie ?? '', 'x-forwarded-for': addressAt(Number(facts.number)) };
  const reply = await client.send(
    { path, headers: { ...sent, ...(type && { 'content-type': type }) }, ...(body && { body }) },
    status,
  );
  // The newest comes first, and counts.
  const cookie = [...reply.cookies.map((each) => each.split(';')[0]), facts.cookie ?? ''].filter(Boolean).join('; ');
  return { body: reply.body, location: reply.headers.location ?? '', facts: { ...facts, cookie } };
}

const emailOf = ({ number }: Facts) => userAt(Number(number)).email;

/** The e-mail is a part of the step that asks for it. */
async function receiveCode(facts: Facts): Promise<Facts> {
  const email = emailOf(facts);
  while (!codes.has(email)) await sleep(1);
  const code = codes.get(email) ?? '';
  codes.delete(email);
  return { ...facts, code };
}

/** An application begins the login, a browser signs in on the pages, and the application exchanges the token. */
export function createUsherSteps({ apiKey, application: { clientId, redirectUris } }: Fixtures): Step[] {
  const api = { 'content-type': JSON_TYPE, 'x-api-key': apiKey };
  const formOf = (facts: Facts) => ({ intent: facts.intent, token: facts.token, email: emailOf(facts) });
  return [
    {
      name: 'GenerateAuthUrl',
      async run(client, { number = '' }) {
        const body = JSON.stringify({ redirectUri: redirectUris[1], state: `state-of-a-request-${number}` });
        const path = `/api/oauth/generate-auth-url?clientId=${clientId}`;
        const { authUrl, loginIntentId } = JSON.parse((await client.send({ path, headers: api, body })).body).data;
        const { pathname, search } = new URL(authUrl);
        return { number, path: pathname + search, intent: loginIntentId };
      },
    },
    {
      name: 'login page',
      async run(client, facts) {
        const { body, facts: known } = await browse(client, facts, { path: facts.path ?? '' });
        return { ...known, token: / name="token" value="([^"]*)"/.exec(body)?.[1] ?? '' };
      },
    },
    {
      name: 'address, e-mail',
      async run(client, facts) {
        const sent = { path: '/login/email', type: FORM, fields: formOf(facts) } as const;
        const { location, facts: known } = await browse(client, facts, sent, 303);
        return receiveCode({ ...known, path: location });
      },
    },
    {
      name: 'page for the code',
      run: async (client, facts) => (await browse(client, facts, { path: facts.path ?? '' })).facts,
    },
    {
      name: 'code',
      async run(client, facts) {
        const sent = { path: '/login/code', type: FORM, fields: { ...formOf(facts), code: facts.code } } as const;
        const { location } = await browse(client, facts, sent, 303);
        return { ...facts, authToken: new URL(location).searchParams.get('authToken') ?? '' };
      },
    },
    {
      name: 'ExchangeToken',
      async run(client, { authToken }) {
        const sent = { path: '/api/oauth/exchange', headers: api, body: JSON.stringify({ authToken }) };
        const { session } = JSON.parse((await client.send(sent)).body).data;
        return { sessionId: session.id };
      },
    },
  ];
}

/** The page of the application sends both forms, and keeps the cookie. */
export const RIVAL_STEPS: readonly Step[] = [
  {
    name: 'better-auth: address, e-mail',
    async run(client, facts) {
      const path = '/api/auth/email-otp/send-verification-otp';
      const fields = { email: emailOf(facts), type: 'sign-in' };
      await browse(client, facts, { path, type: JSON_TYPE, fields, headers: { origin: 'http://127.0.0.1' } });
      return receiveCode(facts);
    },
  },
  {
    name: 'better-auth: code',
    async run(client, facts) {
      const fields = { email: emailOf(facts), otp: facts.code };
      const sent = { path: '/api/auth/sign-in/email-otp', type: JSON_TYPE, fields } as const;
      const { body } = await browse(client, facts, { ...sent, headers: { origin: 'http://127.0.0.1' } });
      if (!JSON.parse(body).token) throw new Error('better-auth has begun no session');
      return {};
    },
  },
];
