/** `express-openid-connect`: sign-in, logout at the provider, and back-channel logout. */
import express from 'express';
import { auth } from 'express-openid-connect';
import { expect, test } from 'vitest';
import { type ClientFixture, openClientFixture } from '../support/openid/client-fixture.ts';
import { PERSON } from '../support/openid/provider.ts';
import { adminClient } from '../support/service.ts';

test('it signs a user in, and out again at the provider', async () => {
  const fixture = await openClientFixture({ loggedOut: '' });
  const { origin, issuer, browser, visit } = fixture;
  await serve(fixture);
  expect(await visit(`${origin}/`)).toMatchObject({ status: 200, url: `${origin}/`, body: PERSON.email });
  expect(await browser.open(`${origin}/`)).toMatchObject({ url: `${origin}/` });
  const signedOut = await browser.open(`${origin}/logout`);
  // The page at which the logout ends asks for a new sign-in.
  expect(signedOut.url).toMatch(new RegExp(`^${issuer}/`));
  expect(signedOut.forms.length).toBeGreaterThan(0);
});

test('it ends the session of a user who is signed out elsewhere', async () => {
  const fixture = await openClientFixture({ loggedOut: '', backchannel: '/backchannel-logout' });
  const { origin, issuer, browser, visit, provider } = fixture;
  await serve(fixture);
  expect(await visit(`${origin}/`)).toMatchObject({ body: PERSON.email });
  await adminClient(provider.service).deactivateUser({ userId: provider.userId });
  await expect.poll(async () => (await browser.open(`${origin}/`)).url).toMatch(new RegExp(`^${issuer}/`));
});

async function serve({ issuer, origin, client, serve }: ClientFixture): Promise<void> {
  const sessions = new Map<string, unknown>();
  const store = {
    get: async (id: string) => sessions.get(id),
    set: async (id: string, session: unknown) => void sessions.set(id, session),
    destroy: async (id: string) => void sessions.delete(id),
  };
  const app = express();
  app.use(
    auth({
      issuerBaseURL: issuer,
      baseURL: origin,
      clientID: client.clientId,
      clientSecret: client.clientSecret,
      secret: 'a secret of the test, of sufficient length',
      // The default is the implicit flow.
      authorizationParams: { response_type: 'code', scope: 'openid profile email' },
      idpLogout: true,
      backchannelLogout: { store: store as never },
    }),
  );
  app.get('/', (request, response) => void response.send(request.oidc.user?.email));
  await serve(app);
}
