/** Creates what a generated request can refer to, so that it gets past the first check. */
import type { Known } from './hostile-requests.ts';
import { request } from './http.ts';
import { ADMIN_KEY, clientsOf, createTenant, createTestUser, logIn, REDIRECT_URI } from './service.ts';

export async function learn(url: string): Promise<Known> {
  const service = { url };
  const tenant = await createTenant(service);
  const user = await createTestUser(service);
  const { auth, webhooks, events } = clientsOf(service, tenant);
  const { webhook } = await webhooks.createWebhook({ url: 'https://example.com/hooks', ownerId: user.id });
  await events.createEvent({ eventId: 'event' });
  const intents: string[] = [];
  for (let count = 0; count < 8; count++) {
    const login = { clientId: tenant.clientId, redirectUri: REDIRECT_URI, state: 'state' };
    intents.push((await auth.generateAuthUrl(login)).loginIntentId);
  }
  const page = await request(url, { path: `/login?intent=${intents[0]}` });
  return {
    apiKey: tenant.apiKey,
    adminKey: ADMIN_KEY,
    clientId: tenant.clientId,
    webhookId: webhook?.webhookId ?? '',
    eventId: 'event',
    victim: await createTenant(service),
    userId: user.id,
    email: user.email,
    authToken: await logIn(service, tenant, user),
    intents,
    cookie: page.cookies[0]?.split(';')[0] ?? '',
    formToken: /name="token" value="([^"]+)"/.exec(page.body)?.[1] ?? '',
  };
}
