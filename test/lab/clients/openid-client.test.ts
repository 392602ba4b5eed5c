/**
 * `openid-client`, versions 6 and 5: every flow with its strict checks, over TLS. Devices also with `oauth4webapi`, which
 * is below it, and by the program of the documentation.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { Issuer } from 'openid-client-5';
import { expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { answerOf } from '../../support/openid/answer-of.ts';
import { type ClientFixture, openClientFixture } from '../../support/openid/client-fixture.ts';
import { PERSON } from '../../support/openid/provider.ts';
import { clientEnvironment } from '../../support/openid/run-program.ts';
import { REPOSITORY } from '../../support/process.ts';
import { adminClient } from '../../support/service.ts';

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

test('the program of the documentation gets tokens of the person who lets it in', async () => {
  const fixture = await openForDevices({ isPublic: true });
  const documentation = await readFile(join(REPOSITORY, 'src/modules/oidc/TERMINALS.md'), 'utf8');
  const [, documented = ''] = /```js\n(.*?)```/s.exec(documentation) ?? [];
  const source = documented
    .replace('https://login.example.com', fixture.issuer)
    .replace('client_…', fixture.client.clientId)
    .replace('console.log(await', 'console.log(JSON.stringify(await')
    .replace('answer));', 'answer)));');
  const folder = await createDirectory();
  await symlink(join(REPOSITORY, 'test/node_modules'), join(folder, 'node_modules'));
  const imports = `import { setTimeout } from 'node:timers/promises';\nimport * as oauth from 'oauth4webapi';\n`;
  await writeFile(join(folder, 'device.mjs'), imports + source);
  const env = { PATH: process.env.PATH, ...(await clientEnvironment(fixture)) };
  const child = spawn(process.execPath, [join(folder, 'device.mjs')], { stdio: ['ignore', 'pipe', 'inherit'], env });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  expect(value).toMatch(new RegExp(`^Open ${fixture.issuer}/device and enter [A-Z]{4}-[A-Z]{4}$`));
  await letIn(fixture);
  const tokens = JSON.parse((await lines.next()).value ?? '');
  expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'openid email', refresh_token: expect.any(String) });
  expect(await exited).toEqual([0, null]);
});

test('openid-client waits for the person, and refreshes', async () => {
  const fixture = await openForDevices();
  const config = await discover(fixture);
  const begun = await client.initiateDeviceAuthorization(config, { scope: 'openid email' });
  const polled = client.pollDeviceAuthorizationGrant(config, begun);
  await letIn(fixture);
  const tokens = await polled;
  expect(tokens.claims()).toMatchObject({ sub: fixture.provider.userId });
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
  expect(refreshed.claims()).toMatchObject({ sub: fixture.provider.userId });
});

test('oauth4webapi is told to wait, and that the person has denied it', async () => {
  const fixture = await openForDevices({ isPublic: true });
  const issuer = new URL(fixture.issuer);
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer));
  const device = { client_id: fixture.client.clientId };
  const begun = await oauth.deviceAuthorizationRequest(server, device, oauth.None(), { scope: 'openid' });
  const { device_code: code } = await oauth.processDeviceAuthorizationResponse(server, device, begun);
  const ask = async () => {
    const answer = await oauth.deviceCodeGrantRequest(server, device, oauth.None(), code);
    return oauth.processDeviceCodeResponse(server, device, answer);
  };
  await expect(ask()).rejects.toMatchObject({ error: 'authorization_pending', status: 400 });
  await expect(ask()).rejects.toMatchObject({ error: 'slow_down', status: 400 });
  await fixture.provider.service.database.sql`update usher.login_intents set approved = false`;
  await expect(ask()).rejects.toMatchObject({ error: 'access_denied', status: 400 });
});

test('openid-client gets a token of its own, and the resource introspects it', async () => {
  const fixture = await openClientFixture();
  const { client: machine, provider } = fixture;
  const resource = 'https://api.app.test/';
  const admin = adminClient(provider.service);
  const { application, apiKey } = await admin.createApplication({
    name: 'API',
    redirectUris: [fixture.callback],
    openIdConnect: true,
    resourceUri: resource,
    resourceScopes: [{ name: 'orders:read', description: 'See orders' }],
    machineClientIds: [machine.clientId],
  });
  const issuer = new URL(fixture.issuer);
  const config = await client.discovery(issuer, machine.clientId, machine.clientSecret);
  const tokens = await client.clientCredentialsGrant(config, { resource, scope: 'orders:read' });
  expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 900, scope: 'orders:read' });
  const api = await client.discovery(issuer, application?.clientId ?? '', apiKey);
  expect(await client.tokenIntrospection(api, tokens.access_token)).toMatchObject({
    active: true,
    sub: machine.clientId,
    aud: resource,
  });
  expect(await client.tokenIntrospection(config, tokens.access_token)).toEqual({ active: false });
});

/** Opens a provider whose client may sign devices in. */
async function openForDevices(options: { isPublic?: boolean } = {}): Promise<ClientFixture> {
  const fixture = await openClientFixture(options);
  const { applicationId, service } = fixture.provider;
  await adminClient(service).updateApplication({ applicationId, deviceLogin: true });
  return fixture;
}

/** Signs the user in for the device, as a login page of the operator does, and presses the button. */
async function letIn({ provider }: ClientFixture): Promise<void> {
  const { service, userId } = provider;
  const { sql } = service.database;
  const [login] = await sql`select id from usher.login_intents where response_mode = 'device' and completed_at is null`;
  await adminClient(service).completeLogin({ loginIntentId: login?.id, userId });
  await sql`update usher.login_intents set approved = true where id = ${login?.id}`;
}

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
