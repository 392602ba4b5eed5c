/** Debian's mod_auth_openidc: a gateway that protects pages of an application that knows nothing of OpenID Connect. */
import { expect, test } from 'vitest';
import { startApache } from '../../support/openid/apache.ts';
import { openClientFixture } from '../../support/openid/client-fixture.ts';
import { PERSON } from '../../support/openid/provider.ts';
import { adminClient } from '../../support/service.ts';
import { lacks } from '../../support/tools.ts';

const BACKCHANNEL = { backchannel: '/callback?logout=backchannel', requirePkce: true };

test.skipIf(lacks('APACHE'))('it protects a page, refreshes, and signs the user out', async () => {
  const fixture = await openClientFixture(BACKCHANNEL);
  const { origin, callback, browser, visit, provider } = fixture;
  await startApache(fixture);
  const page = await visit(`${origin}/`);
  expect(page).toMatchObject({
    status: 200,
    url: `${origin}/`,
    body: 'the protected page',
    headers: { 'x-user': PERSON.email, 'x-subject': provider.userId },
  });

  const returnTo = encodeURIComponent(`${origin}/`);
  const token = encodeURIComponent(String(page.headers['x-access-token']));
  const refreshed = await browser.open(`${callback}?refresh=${returnTo}&access_token=${token}`);
  // What fails would be in its query.
  expect(refreshed).toMatchObject({ status: 200, url: `${origin}/`, body: 'the protected page' });

  const signedOut = await visit(`${callback}?logout=${encodeURIComponent(`${origin}/signed-out`)}`);
  expect(signedOut.url).toBe(`${origin}/signed-out`);
  const again = await browser.open(`${origin}/`);
  expect(again.url).toMatch(new RegExp(`^${fixture.issuer}/`));
});

test.skipIf(lacks('APACHE'))('it ends the session of a user who is signed out elsewhere', async () => {
  const fixture = await openClientFixture(BACKCHANNEL);
  const { origin, browser, visit, provider } = fixture;
  await startApache(fixture);
  expect(await visit(`${origin}/`)).toMatchObject({ body: 'the protected page' });
  expect(await browser.open(`${origin}/`)).toMatchObject({ url: `${origin}/` });
  await adminClient(provider.service).deactivateUser({ userId: provider.userId });
  // Back-channel logout has no answer to wait for.
  await expect.poll(async () => (await browser.open(`${origin}/`)).url).toMatch(new RegExp(`^${fixture.issuer}/`));
});
