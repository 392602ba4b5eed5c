import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ExampleBrowser, startExample } from '../../support/example-application.ts';
import { REPOSITORY } from '../../support/process.ts';
import { createTenant, createTestUser, startTestService } from '../../support/service.ts';

const APP = join(REPOSITORY, 'test/examples/hono/app.ts');

const service = await startTestService({ config: { publicUrl: undefined } });
const tenant = await createTenant(service, { redirectUris: ['http://127.0.0.1/callback'] });
const app = await startExample(APP, {
  USHER_URL: `http://localhost:${service.port}`,
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
  const foreign = new URL(callback);
  foreign.searchParams.set('state', 'of another login');
  expect((await browser.open(foreign.href)).status).toBe(400);
  expect((await browser.open(callback)).status).toBe(302);

  expect(await browser.read(app.url)).toBe(`Signed in as ${user.email}`);
});

test('the README shows the application as it is', async () => {
  const readme = await readFile(join(REPOSITORY, 'README.md'), 'utf8');
  expect(readme.includes(`\`\`\`ts\n${await readFile(APP, 'utf8')}\`\`\``)).toBe(true);
});
