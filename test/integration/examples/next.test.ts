/** The route handlers of Next.js take a Request and return a Response, so they run without it, which is a large package. */
import { afterAll, expect, test, vi } from 'vitest';
import { ExampleBrowser } from '../../support/example-application.ts';
import { adminClient, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const APP_URL = 'http://127.0.0.1:3000';
const service = await startTestService({ config: { publicUrl: undefined } });
const tenant = await createTenant(service, { redirectUris: ['http://127.0.0.1/callback'] });
const env = {
  USHER_URL: `http://localhost:${service.port}`,
  CLIENT_ID: tenant.clientId,
  API_KEY: tenant.apiKey,
  APP_URL,
};
for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
const handlers = await import('../../examples/next/sessions.ts');
afterAll(() => service.close());

test('a user who signs in at Usher is signed in to the application, until it signs out', async () => {
  const user = await createTestUser(service);
  const browser = new ExampleBrowser();
  const open = async (handle: (request: Request) => Promise<Response>, url: string) => {
    const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ');
    return browser.keep(await handle(new Request(new URL(url, APP_URL), { headers: { cookie } })));
  };
  expect((await open(handlers.me, '/me')).headers.get('location')).toBe(`${APP_URL}/login?returnTo=/me`);
  const login = await open(handlers.login, '/login?returnTo=/me');
  const loginIntentId = new URL(login.headers.get('location') ?? '').searchParams.get('intent') ?? '';
  const { redirectUrl } = await adminClient(service).completeLogin({ loginIntentId, userId: user.id });
  expect((await open(handlers.callback, redirectUrl)).headers.get('location')).toBe('/me');
  expect(await (await open(handlers.me, '/me')).json()).toBe(user.email);
  await open(handlers.logout, '/logout');
  expect((await open(handlers.me, '/me')).status).toBe(303);
});
