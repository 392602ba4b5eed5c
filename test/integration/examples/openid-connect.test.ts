import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ExampleBrowser, startExample } from '../../support/example-application.ts';
import { findFreePort } from '../../support/free-port.ts';
import { createRsaJwk } from '../../support/oidc.ts';
import { REPOSITORY } from '../../support/process.ts';
import { adminClient, createTenant, createTestUser, startTestService } from '../../support/service.ts';

const port = await findFreePort();
const service = await startTestService({
  oidcSigningKeys: [createRsaJwk()],
  config: { port, publicUrl: `http://localhost:${port}` },
});
const tenant = await createTenant(service, { redirectUris: ['http://127.0.0.1/callback'] });
await adminClient(service).updateApplication({ applicationId: tenant.id, openIdConnect: true });
const app = await startExample(join(REPOSITORY, 'test/examples/openid-connect/app.ts'), {
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

  const callback = await browser.signIn(app.url, service, user);
  expect((await new ExampleBrowser().open(callback)).status).toBe(400);
  expect((await browser.open(callback)).status).toBe(302);
  expect(await browser.read(app.url)).toBe(`Signed in as ${user.email}`);
});
