/** The demo: an application, user, webhook and two events to try Usher with, on the embedded Postgres only. */
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { readOrCreateFile } from '../config/read-or-create-file.ts';
import type { Statement } from '../database/database.ts';
import { applications, users } from '../database/schema.ts';
import { createApplication } from '../domain/applications/create-application.ts';
import { isRegistered, isRegistrable } from '../domain/applications/redirect-uri.ts';
import type { Call } from '../domain/call.ts';
import { createEvent } from '../domain/events/create-event.ts';
import type { AuthTokens } from '../domain/login/auth-tokens.ts';
import { completeLogin } from '../domain/login/complete-login.ts';
import { createAuthPageLink, generateAuthUrl } from '../domain/login/generate-auth-url.ts';
import { createUser } from '../domain/users/create-user.ts';
import { createWebhook } from '../domain/webhooks/create-webhook.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';

/** What `demo.json` keeps between starts. */
interface KeptDemo {
  readonly apiKey: string;
  readonly applicationId: string;
  readonly applicationName: string;
  readonly clientId: string;
  readonly redirectUris: readonly string[];
  readonly userId: string;
  readonly email: string;
  readonly webhookId: string;
  readonly eventIds: readonly [string, string];
}

export interface Demo extends KeptDemo {
  readonly redirectUri: string;
  /** The state of the login that `authUrl` starts. */
  readonly state: string;
  /** Undefined if nobody could sign in there or come back. */
  readonly authUrl: string | undefined;
  /** Only at the start that created the demo, since a token expires after 15 minutes. */
  readonly authToken: string | undefined;
}

export interface DemoParts {
  readonly directory: string;
  /** How this machine reaches the server. */
  readonly url: string;
  readonly authPageUrl: string;
  /** Whether the terminal shows the codes of the login page. */
  readonly showsCodes: boolean;
  readonly tokens: AuthTokens;
  readonly cipher: SigningKeyCipher;
}

/** Returns the demo in the directory, or creates one and stores it there with mode 0600. */
export async function openDemo(call: Call, parts: DemoParts): Promise<Demo> {
  const file = join(parts.directory, 'demo.json');
  const found = await readDemo(file);
  const isNew = !found || (await call.run(selectDemo, { ...found })).length === 0;
  const kept = isNew ? await createDemo(call, parts) : found;
  if (isNew) {
    await rm(file, { force: true });
    await readOrCreateFile(file, () => JSON.stringify(kept, null, 2));
  }

  // Over http, a redirect URI on 127.0.0.1 matches any port, so the demo survives a change of port.
  const callback = new URL('/demo/callback', parts.url);
  if (callback.protocol === 'http:' && callback.hostname === 'localhost') callback.hostname = '127.0.0.1';
  const { clientId, redirectUris } = kept;
  // False if no application may register it, or if its scheme has changed since the demo was created.
  const canReturn = isRegistered(callback.href, redirectUris);
  const redirectUri = canReturn ? callback.href : (redirectUris[0] ?? '');
  const application = { id: kept.applicationId, name: kept.applicationName, clientId, redirectUris };
  const startLogin = (state: string) =>
    generateAuthUrl({ ...call, application }, createAuthPageLink(parts.authPageUrl), { clientId, redirectUri, state });

  const state = randomUUID();
  const { authUrl } = await startLogin(state);
  const logIn = async () => {
    const { loginIntentId } = await startLogin('demo');
    return completeLogin(call, parts.tokens, { loginIntentId, userId: kept.userId });
  };
  return {
    ...kept,
    redirectUri,
    state,
    authUrl: parts.showsCodes && canReturn ? authUrl : undefined,
    authToken: isNew ? (await logIn()).authToken : undefined,
  };
}

/** Returns undefined if there is no readable file. */
async function readDemo(file: string): Promise<KeptDemo | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Returns no row if the application or its user has been deleted, or if the database is new. */
const selectDemo: Statement<unknown[]> = (db) =>
  db
    .select({ id: applications.id })
    .from(applications)
    .innerJoin(users, eq(users.id, sql.placeholder('userId')))
    .where(
      and(
        eq(applications.id, sql.placeholder('applicationId')),
        isNull(applications.deletedAt),
        isNull(users.deletedAt),
      ),
    )
    .prepare('select_demo');

async function createDemo(call: Call, { url, cipher }: DemoParts): Promise<KeptDemo> {
  const callbacks = ['http://127.0.0.1/demo/callback', new URL('/demo/callback', url).href];
  const redirectUris = callbacks.filter(isRegistrable);
  const { application, apiKey } = await createApplication(call, { name: 'Demo', redirectUris });
  const user = await createUser(call, {
    email: `ada.${application.id.slice(0, 8)}@example.com`,
    name: 'Ada Lovelace',
    walletAddress: `0x${application.id.replaceAll('-', '')}00ada000`,
  });
  const applicationCall = { ...call, application };
  const webhook = await createWebhook(applicationCall, cipher, { url: 'https://example.com/hooks', ownerId: user.id });
  const eventIds = ['demo-event-1', 'demo-event-2'] as const;
  for (const eventId of eventIds) await createEvent(applicationCall, { eventId, name: 'Demo event' });
  return {
    apiKey,
    applicationId: application.id,
    applicationName: application.name,
    clientId: application.clientId,
    redirectUris,
    userId: user.id,
    email: user.email,
    webhookId: webhook.id,
    eventIds,
  };
}

/** Returns commands to paste into a shell, one per line. */
export function describeDemo(url: string, demo: Demo): string {
  const { apiKey, clientId, redirectUri, webhookId, eventIds, authToken, authUrl, email } = demo;
  const key = `-H 'X-API-Key: ${apiKey}'`;
  const post = `${key} -H 'Content-Type: application/json'`;
  const getWebhook = `curl -s ${url}/api/webhooks/${webhookId} ${key}`;
  const inBrowser = authUrl ? `Sign in as ${email}, in a browser (the code appears here):\n\n${authUrl}\n\n` : '';
  if (!authToken) return `${inBrowser}A first call:\n\n${getWebhook}\n`;

  const login = JSON.stringify({ redirectUri, state: 'a-random-value' });
  const rpc = (protocol: string, procedure: string, body: unknown) =>
    `npx buf curl --protocol ${protocol} --http2-prior-knowledge ${key} -d '${JSON.stringify(body)}' ${url}/usher.v1.${procedure}`;
  return `${inBrowser}The four calls over REST:

curl -s -X POST '${url}/api/oauth/generate-auth-url?clientId=${clientId}' ${post} -d '${login}'
curl -s -X POST ${url}/api/oauth/exchange ${post} -d '${JSON.stringify({ authToken })}'
${getWebhook}
curl -s -X DELETE ${url}/api/events/${eventIds[0]} ${post}

The same as RPCs:

${rpc('connect', 'AuthService/GenerateAuthUrl', { clientId, redirectUri, state: 'a-random-value' })}
${rpc('connect', 'AuthService/ExchangeToken', { authToken })}
${rpc('grpc', 'WebhookService/GetWebhook', { webhookId })}
${rpc('grpcweb', 'EventService/DeleteEvent', { eventId: eventIds[1] })}
`;
}
