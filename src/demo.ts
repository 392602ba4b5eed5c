/** An application, user, webhook and two events to try Usher with, on its embedded Postgres only. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createApplication } from './core/admin/create-application.ts';
import { createUser } from './core/admin/create-user.ts';
import type { AuthTokens } from './core/auth/auth-tokens.ts';
import { completeLogin } from './core/auth/complete-login.ts';
import { generateAuthUrl } from './core/auth/generate-auth-url.ts';
import type { Call } from './core/call.ts';
import { createEvent } from './core/events/create-event.ts';
import { createWebhook } from './core/webhooks/create-webhook.ts';
import type { SigningKeyCipher } from './core/webhooks/signing-key-cipher.ts';

export interface Demo {
  readonly apiKey: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly webhookId: string;
  readonly eventIds: readonly [string, string];
  /** Only from the start that created the demo, for it lives 15 minutes. */
  readonly authToken?: string;
}

/** The demo kept in the directory, or a new one, to be kept there with mode 0600. */
export async function openDemo(
  directory: string,
  call: Call,
  { tokens, cipher }: { tokens: AuthTokens; cipher: SigningKeyCipher },
): Promise<Demo> {
  const file = join(directory, 'demo.json');
  if (existsSync(file)) return JSON.parse(await readFile(file, 'utf8'));

  const redirectUri = 'http://localhost:3000/callback';
  const { application, apiKey } = await createApplication(call, { name: 'Demo', redirectUris: [redirectUri] });
  const { clientId } = application;
  const user = await createUser(call, {
    email: `ada.${application.id.slice(0, 8)}@example.com`,
    name: 'Ada Lovelace',
    walletAddress: '0x00000000000000000000000000000000000ADA00',
  });
  const applicationCall = { ...call, application };
  const webhook = await createWebhook(applicationCall, cipher, { url: 'https://example.com/hooks', ownerId: user.id });
  const eventIds = ['demo-event-1', 'demo-event-2'] as const;
  for (const eventId of eventIds) await createEvent(applicationCall, { eventId, name: 'Demo event' });
  const { loginIntentId } = await generateAuthUrl(applicationCall, tokens.issuer, {
    clientId,
    redirectUri,
    state: 'demo',
  });
  const { authToken } = await completeLogin(call, tokens, { loginIntentId, userId: user.id });

  const demo: Demo = { apiKey, clientId, redirectUri, webhookId: webhook.id, eventIds };
  await writeFile(file, JSON.stringify(demo, null, 2), { mode: 0o600 });
  return { ...demo, authToken };
}

/** What to paste into a shell, a command per line. */
export function describeDemo(
  url: string,
  { apiKey, clientId, redirectUri, webhookId, eventIds, authToken }: Demo,
): string {
  const key = `-H 'X-API-Key: ${apiKey}'`;
  const post = `${key} -H 'Content-Type: application/json'`;
  const getWebhook = `curl -s ${url}/api/webhooks/${webhookId} ${key}`;
  if (!authToken) return `A first call:\n\n${getWebhook}\n`;

  const login = JSON.stringify({ redirectUri, state: 'a-random-value' });
  const rpc = (protocol: string, procedure: string, body: unknown) =>
    `npx buf curl --protocol ${protocol} --http2-prior-knowledge ${key} -d '${JSON.stringify(body)}' ${url}/usher.v1.${procedure}`;
  return `The four calls over REST:

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
