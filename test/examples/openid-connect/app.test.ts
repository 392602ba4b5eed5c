import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ExampleBrowser, startExample } from '../../support/example-application.ts';
import { findFreePort } from '../../support/free-port.ts';
import { createRsaJwk } from '../../support/oidc.ts';
import { adminClient, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const port = await findFreePort();
const service = await startTestService({
  oidcSigningKeys: [createRsaJwk()],
  config: { port, publicUrl: `http://localhost:${port}` },
});
const tenant = await createTenant(service, { redirectUris: ['http://127.0.0.1/callback'] });
await adminClient(service).updateApplication({ applicationId: tenant.id, openIdConnect: true });
const app = await startExample(join(import.meta.dirname, 'app.ts'), {
  USHER_URL: `http://localhost:${port}`,
  CLIENT_ID: tenant.clientId,
  API_KEY: tenant.apiKey,
});

afterAll(async () => {
  app.close();
  await service.close();
});

test('a user who signs in at Usher is signed in to the application', async () => {
  const browser = new ExampleBrowser();
  const user = await createTestUser(service);
  expect(await browser.read(app.url)).toContain('Sign in');

  const asked = await browser.open(`${app.url}/login`);
  const page = await browser.open(asked.headers.get('location') ?? '');
  const loginIntentId = new URL(page.headers.get('location') ?? '').searchParams.get('intent') ?? '';
  const { redirectUrl } = await adminClient(service).completeLogin({ loginIntentId, userId: user.id });
  expect((await new ExampleBrowser().open(redirectUrl)).status).toBe(400);
  expect((await browser.open(redirectUrl)).status).toBe(302);
  expect(await browser.read(app.url)).toBe(`Signed in as ${user.email}`);
});
