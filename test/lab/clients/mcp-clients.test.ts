/** Programs of others that sign people in to an MCP server: MCP Inspector's command line, mcp-remote, oauth4webapi. */
import { spawn } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { decide, signInForDevice } from '../../support/device-client.ts';
import { createDirectory } from '../../support/directory.ts';
import { findFreePort } from '../../support/free-port.ts';
import { type McpFixture, openMcp } from '../../support/mcp-fixture.ts';
import { basicOf, post } from '../../support/oidc-client.ts';
import { REPOSITORY } from '../../support/process.ts';
import { adminClient, createTenant, type Tenant } from '../../support/service.ts';

const PACKAGES = join(REPOSITORY, 'test/node_modules');
const INSPECTOR = join(PACKAGES, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
const REMOTE = join(PACKAGES, 'mcp-remote/dist/client.js');

let mcp: McpFixture;
let home: string;
let cli: Tenant;
let machine: Tenant;

beforeAll(async () => {
  mcp = await openMcp();
  const { service, shop } = mcp;
  const fields = { name: 'Shop CLI', openIdConnect: true };
  machine = await createTenant(service, fields);
  cli = await createTenant(service, { ...fields, publicClient: true, deviceLogin: true });
  const machineClientIds = [cli.clientId, machine.clientId];
  await adminClient(service).updateApplication({ applicationId: shop.id, machineClientIds });
  // What the programs keep, and a browser that opens nothing.
  home = await createDirectory();
  await writeFile(join(home, 'xdg-open'), '#!/bin/sh\n');
  await chmod(join(home, 'xdg-open'), 0o755);
});
afterAll(() => mcp[Symbol.asyncDispose]());

/** Starts a program, whose input stays open: some end with it. `find` waits until it has printed a match. */
function start(file: string, args: readonly string[]) {
  const env = {
    ...{ HOME: home, PATH: home, BROWSER: join(home, 'xdg-open'), NO_COLOR: '1' },
    ...{ MCP_AUTO_OPEN_ENABLED: 'true', MCP_REMOTE_CONFIG_DIR: join(home, 'mcp-remote') },
  };
  const child = spawn(process.execPath, [file, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill());
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text;
    });
  const hasEnded = () => child.exitCode !== null;
  return {
    async find(pattern: RegExp): Promise<string> {
      await expect.poll(() => hasEnded() || pattern.test(output)).toBe(true);
      const found = pattern.exec(output)?.[1];
      if (found === undefined) throw new Error(`The program has ended without ${pattern}:\n${output}`);
      return found;
    },
    async end() {
      await expect.poll(hasEnded).toBe(true);
      return { exitCode: child.exitCode, output };
    },
  };
}

test('MCP Inspector signs a person in by its URL, and keeps its tokens', async () => {
  const { clients, letIn, resource } = mcp;
  const clientId = clients.add({ client_name: 'MCP Inspector', redirect_uris: ['http://127.0.0.1/oauth/callback'] });
  const run = (...args: string[]) =>
    start(INSPECTOR, [
      ...['--cli', resource, '--transport', 'http', '--format', 'json', '--client-metadata-url', clientId],
      ...['--callback-url', 'http://127.0.0.1:0/oauth/callback', ...args],
    ]);
  const first = run('--method', 'tools/list');
  const { user, answer } = await letIn(new URL(await first.find(/navigate to: (http\S+)/)));
  expect((await fetch(answer)).status).toBe(200);
  expect(await first.end()).toMatchObject({ exitCode: 0, output: expect.stringContaining('Lists the orders') });

  const second = run('--stored-auth-only', '--method', 'tools/call', '--tool-name', 'orders');
  expect(await second.end()).toMatchObject({ exitCode: 0, output: expect.stringContaining(`Orders of ${user.id}`) });
});

test('mcp-remote signs a person in by its URL', async () => {
  const { clients, letIn, resource } = mcp;
  const clientId = clients.add({ client_name: 'mcp-remote', redirect_uris: ['http://localhost/oauth/callback'] });
  const port = String(await findFreePort());
  const program = start(REMOTE, [resource, port, '--transport', 'http-only', '--client-metadata-url', clientId]);
  const { answer } = await letIn(new URL(await program.find(/visiting:\n(http\S+)/)));
  expect((await fetch(answer)).status).toBe(200);
  expect(await program.end()).toMatchObject({ exitCode: 0, output: expect.stringContaining('Lists the orders') });
});

test('mcp-remote signs a device in for the resource', async () => {
  const { fixture, resource, shop } = mcp;
  const information = JSON.stringify({ client_id: cli.clientId });
  const options = ['--transport', 'http-only', '--device-code', '--static-oauth-client-info', information];
  const program = start(REMOTE, [resource, ...options]);
  const userCode = await program.find(/user_code=([A-Z-]+)/);
  await decide(await signInForDevice(fixture, shop, { userCode }), 'allow');
  expect(await program.end()).toMatchObject({ exitCode: 0, output: expect.stringContaining('Lists the orders') });
});

test('mcp-remote gets a token of its own', async () => {
  const { clientId, apiKey } = machine;
  const information = JSON.stringify({ client_id: clientId, client_secret: apiKey });
  const options = ['--transport', 'http-only', '--client-credentials', '--static-oauth-client-info', information];
  const program = start(REMOTE, [mcp.resource, ...options]);
  expect(await program.end()).toMatchObject({ exitCode: 0, output: expect.stringContaining('Lists the orders') });
});

const INSECURE = { [oauth.allowInsecureRequests]: true };

async function discover() {
  const issuer = new URL(mcp.issuer);
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, INSECURE));
}

test('oauth4webapi signs a person in by its URL, refreshes, and ends its tokens', async () => {
  const { clients, letIn, resource, shop } = mcp;
  const [server, redirectUri] = [await discover(), 'http://localhost:49152/callback'];
  expect(server.client_id_metadata_document_supported).toBe(true);
  const client = { client_id: clients.add() };
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const asked = new URL(server.authorization_endpoint ?? '');
  asked.search = new URLSearchParams({
    ...{ response_type: 'code', client_id: client.client_id, redirect_uri: redirectUri, resource, state },
    ...{ scope: 'orders:read', code_challenge_method: 'S256' },
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
  }).toString();
  const { user, answer } = await letIn(asked);
  const parameters = oauth.validateAuthResponse(server, client, answer, state);
  const options = { ...INSECURE, additionalParameters: { resource } };
  const code = [parameters, redirectUri, verifier] as const;
  const reply = await oauth.authorizationCodeGrantRequest(server, client, oauth.None(), ...code, options);
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, reply);
  const again = await oauth.refreshTokenGrantRequest(
    ...[server, client, oauth.None(), tokens.refresh_token ?? '', options],
  );
  const { access_token: token } = await oauth.processRefreshTokenResponse(server, client, again);

  const api = { client_id: shop.clientId };
  const introspect = async () => {
    const secret = oauth.ClientSecretBasic(shop.apiKey);
    return oauth.processIntrospectionResponse(
      ...[server, api, await oauth.introspectionRequest(server, api, secret, token, INSECURE)],
    );
  };
  expect(await introspect()).toMatchObject({
    ...{ active: true, aud: resource, client_id: client.client_id, sub: user.id, scope: 'orders:read' },
  });
  await oauth.processRevocationResponse(await oauth.revocationRequest(server, client, oauth.None(), token, INSECURE));
  expect(await introspect()).toEqual({ active: false });
});

test('oauth4webapi signs a device in for the resource', async () => {
  const { fixture, resource, service, shop } = mcp;
  const { clientId } = cli;
  const [server, client] = [await discover(), { client_id: clientId }];
  const begun = await oauth.deviceAuthorizationRequest(
    ...[server, client, oauth.None(), { resource, scope: 'orders:read' }, INSECURE],
  );
  const { device_code: code, user_code: userCode } = await oauth.processDeviceAuthorizationResponse(
    ...[server, client, begun],
  );
  const { user, ...at } = await signInForDevice(fixture, shop, { userCode });
  await decide(at, 'allow');
  const reply = await oauth.deviceCodeGrantRequest(server, client, oauth.None(), code, {
    ...{ ...INSECURE, additionalParameters: { resource } },
  });
  const { access_token: token } = await oauth.processDeviceCodeResponse(server, client, reply);
  expect((await post(service, '/oidc/introspect', { token }, basicOf(shop))).body).toMatchObject({
    ...{ active: true, aud: resource, client_id: clientId, sub: user.id, scope: 'orders:read' },
  });
});
