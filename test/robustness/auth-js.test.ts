/** Auth.js for Express: `oauth4webapi` below it form-encodes client secrets, which other clients do not. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startExample } from '../support/example-application.ts';
import { openClientFixture } from '../support/openid/client-fixture.ts';
import { PERSON } from '../support/openid/provider.ts';
import { clientEnvironment } from '../support/openid/run-script.ts';

const PROGRAM = join(import.meta.dirname, '../support/openid/clients/auth-js-client.js');

test('Auth.js signs a user in, with state, nonce and PKCE', async () => {
  const fixture = await openClientFixture({ callback: '/auth/callback/usher', requirePkce: true });
  const { origin, port, browser, visit } = fixture;
  const app = await startExample(PROGRAM, { ...(await clientEnvironment(fixture)), PORT: String(port) });
  onTestFinished(app.close);
  const { csrfToken } = JSON.parse((await browser.open(`${origin}/auth/csrf`)).body);
  const page = await visit(`${origin}/auth/signin/usher`, { csrfToken, callbackUrl: `${origin}/` });
  expect(page).toMatchObject({ status: 200, url: `${origin}/`, body: 'home' });
  const { user } = JSON.parse((await browser.open(`${origin}/auth/session`)).body);
  expect(user).toMatchObject(PERSON);
});
