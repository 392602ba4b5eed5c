/** Clients of others without a browser: the program of the documentation, with `oauth4webapi`, and `openid-client`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { expect, test } from 'vitest';
import { createDirectory } from '../support/directory.ts';
import { type ClientFixture, openClientFixture } from '../support/openid/client-fixture.ts';
import { clientEnvironment } from '../support/openid/run-script.ts';
import { REPOSITORY } from '../support/process.ts';
import { adminClient } from '../support/service.ts';

/** Opens a provider whose client may sign devices in. */
async function open(options: { isPublic?: boolean } = {}): Promise<ClientFixture> {
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

test('the program of the documentation gets tokens of the person who lets it in', async () => {
  const fixture = await open({ isPublic: true });
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
  const fixture = await open();
  const { clientId, clientSecret } = fixture.client;
  const config = await client.discovery(new URL(fixture.issuer), clientId, clientSecret);
  client.enableNonRepudiationChecks(config);
  const begun = await client.initiateDeviceAuthorization(config, { scope: 'openid email' });
  const polled = client.pollDeviceAuthorizationGrant(config, begun);
  await letIn(fixture);
  const tokens = await polled;
  expect(tokens.claims()).toMatchObject({ sub: fixture.provider.userId });
  const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token ?? '');
  expect(refreshed.claims()).toMatchObject({ sub: fixture.provider.userId });
});

test('oauth4webapi is told to wait, and that the person has denied it', async () => {
  const fixture = await open({ isPublic: true });
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
