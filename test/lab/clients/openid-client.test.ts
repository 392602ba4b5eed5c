/** `openid-client`, versions 6 and 5: every flow with its strict checks, over TLS. */
import * as client from 'openid-client';
import { Issuer } from 'openid-client-5';
import { expect, test } from 'vitest';
import { answerOf } from '../../support/openid/answer-of.ts';
import { type ClientFixture, openClientFixture } from '../../support/openid/client-fixture.ts';
import { PERSON } from '../../support/openid/provider.ts';

const SCOPE = 'openid profile email offline_access';

test('version 6 signs a user in with PKCE, state and nonce, refreshes, reads the profile and signs the user out', async () => {
  const fixture = await openClientFixture({ requirePkce: true });
  const config = await discover(fixture);
  const { tokens, claims } = await signIn(fixture, config);
  expect(claims).toMatchObject({ sub: fixture.provider.userId, email: PERSON.email, email_verified: true });
  expect(await client.fetchUserInfo(config, tokens.access_token, claims.sub)).toMatchObject(PERSON);

  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
  expect(refreshed.claims()).toMatchObject({ sub: claims.sub, auth_time: claims.auth_time });

  const state = client.randomState();
  const logout = client.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token ?? '',
    post_logout_redirect_uri: `${fixture.origin}/signed-out`,
    state,
  });
  await fixture.serve((_, response) => response.end('signed out'));
  const page = await fixture.visit(logout.href);
  expect(page).toMatchObject({ url: `${fixture.origin}/signed-out?state=${state}`, body: 'signed out' });
  await expect(client.refreshTokenGrant(config, tokens.refresh_token ?? '')).rejects.toMatchObject({
    error: 'invalid_grant',
    status: 400,
  });
});

test('version 6 reads an answer that is posted, with a long state, as .NET asks for it', async () => {
  const fixture = await openClientFixture();
  const config = await discover(fixture);
  const state = 's'.repeat(1_500);
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: fixture.callback,
    scope: SCOPE,
    state,
    response_mode: 'form_post',
  });
  const { forms } = await fixture.visit(url.href);
  const [form] = forms;
  expect(form).toMatchObject({ action: fixture.callback, method: 'post' });
  const body = new URLSearchParams(form?.fields);
  const answer = new Request(fixture.callback, { method: 'POST', body });
  const tokens = await client.authorizationCodeGrant(config, answer, { expectedState: state, idTokenExpected: true });
  expect(tokens.claims()?.sub).toBe(fixture.provider.userId);
});

test('version 5 signs a user in, refreshes, reads the profile and signs the user out', async () => {
  const fixture = await openClientFixture();
  const issuer = await Issuer.discover(fixture.issuer);
  const { clientId, clientSecret } = fixture.client;
  const relyingParty = new issuer.Client({
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris: [fixture.callback],
    response_types: ['code'],
  });
  const checks = { state: 'a state', nonce: 'a nonce', response_type: 'code' };
  const page = await answerOf(fixture, relyingParty.authorizationUrl({ scope: SCOPE, ...checks }));
  const tokens = await relyingParty.callback(fixture.callback, relyingParty.callbackParams(page), checks);
  expect(tokens.claims()).toMatchObject({ sub: fixture.provider.userId, nonce: 'a nonce' });
  expect(await relyingParty.userinfo(tokens)).toMatchObject(PERSON);
  expect((await relyingParty.refresh(tokens)).claims().sub).toBe(fixture.provider.userId);
  expect(relyingParty.endSessionUrl({ id_token_hint: tokens })).toContain(`${fixture.issuer}/`);
});

async function discover({ issuer, client: { clientId, clientSecret } }: ClientFixture): Promise<client.Configuration> {
  const config = await client.discovery(new URL(issuer), clientId, clientSecret);
  // Without it the client trusts TLS for the signature.
  client.enableNonRepudiationChecks(config);
  return config;
}

async function signIn(fixture: ClientFixture, config: client.Configuration) {
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const [expectedState, expectedNonce] = [client.randomState(), client.randomNonce()];
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: fixture.callback,
    scope: SCOPE,
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  const answer = new URL(await answerOf(fixture, url.href));
  const checks = { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true };
  const tokens = await client.authorizationCodeGrant(config, answer, checks);
  const claims = tokens.claims();
  if (!claims) throw new Error('No ID token');
  return { tokens, claims };
}
