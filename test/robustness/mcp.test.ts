/** The MCP server of the documentation, with the client of the MCP TypeScript SDK. */
import { join } from 'node:path';
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, test } from 'vitest';
import { parseClientHosts } from '../../src/modules/oidc/clients/client-hosts.ts';
import { CLIENT_HOSTS, startClientServers } from '../support/client-metadata.ts';
import { startExample } from '../support/example-application.ts';
import { findFreePort } from '../support/free-port.ts';
import { LoginBrowser } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { createRsaJwk } from '../support/oidc.ts';
import { REPOSITORY } from '../support/process.ts';
import { adminClient, createTenant } from '../support/service.ts';

const REDIRECT_URL = 'http://localhost:53682/callback';

type Information = NonNullable<Awaited<ReturnType<OAuthClientProvider['clientInformation']>>>;
type Tokens = NonNullable<Awaited<ReturnType<OAuthClientProvider['tokens']>>>;

/** Keeps what a client must keep, and the URL to which it sends the browser. */
class Keeper implements OAuthClientProvider {
  readonly clientMetadataUrl: string;
  readonly redirectUrl = REDIRECT_URL;
  readonly clientMetadata = { client_name: 'Assistant', redirect_uris: [REDIRECT_URL] };
  asked: URL | undefined;
  #information: Information | undefined;
  #tokens: Tokens | undefined;
  #verifier = '';

  constructor(clientMetadataUrl: string) {
    this.clientMetadataUrl = clientMetadataUrl;
  }

  clientInformation = () => this.#information;
  tokens = () => this.#tokens;
  codeVerifier = () => this.#verifier;
  saveClientInformation = (information: Information) => {
    this.#information = information;
  };
  saveTokens = (tokens: Tokens) => {
    this.#tokens = tokens;
  };
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  redirectToAuthorization = (url: URL) => {
    this.asked = url;
  };
}

test('an assistant that nobody has registered calls a tool as the person who has let it', async () => {
  await using clients = await startClientServers();
  const config = {
    clientMetadataHosts: parseClientHosts(`*.${CLIENT_HOSTS}`),
    webhookProxyUrl: clients.proxyUrl,
    publicUrl: undefined,
  };
  await using fixture = await LoginFixture.open({ config: config as never, oidcSigningKeys: [createRsaJwk()] });
  const { service } = fixture;
  const issuer = `http://localhost:${new URL(service.url).port}`;
  const port = String(await findFreePort());
  const resource = `http://localhost:${port}/mcp`;
  const shop = await createTenant(service, { name: 'Shop MCP', openIdConnect: true });
  await adminClient(service).updateApplication({
    applicationId: shop.id,
    resourceUri: resource,
    resourceScopes: [{ name: 'orders:read', description: 'See your orders' }],
    allowMetadataClients: true,
  });
  const env = {
    USHER_URL: issuer,
    CLIENT_ID: shop.clientId,
    API_KEY: shop.apiKey,
    PORT: port,
    RESOURCE: resource,
  };
  const example = await startExample(join(REPOSITORY, 'test/examples/mcp/server.ts'), env);
  try {
    const keeper = new Keeper(clients.add({ redirect_uris: ['http://localhost/callback'] }));
    const open = () => new StreamableHTTPClientTransport(new URL(resource), { authProvider: keeper });
    const connect = async (transport: StreamableHTTPClientTransport) => {
      const client = new Client({ name: 'assistant', version: '1.0.0' });
      await client.connect(transport as Parameters<typeof client.connect>[0]);
      return client;
    };
    const first = open();
    await expect(connect(first)).rejects.toThrow(UnauthorizedError);

    const browser = new LoginBrowser(service);
    const { location = '' } = await browser.open(`${keeper.asked?.pathname}${keeper.asked?.search}`);
    const url = new URL(location);
    const login = {
      loginIntentId: url.searchParams.get('intent') ?? '',
      path: url.pathname + url.search,
      origin: url.origin,
      state: '',
    };
    const { submit, user } = await fixture.readyByEmail({ browser, login });
    const consent = new URL((await submit()).location ?? '');
    const page = await browser.open(consent.pathname + consent.search);
    const answer = new URL((await browser.submit(page, '/oidc/consent', { choice: 'allow' })).location ?? '');
    expect(answer.searchParams.get('iss')).toBe(issuer);
    await first.finishAuth(answer.searchParams.get('code') ?? '');

    const client = await connect(open());
    const called = await client.callTool({ name: 'orders' });
    expect(called.content).toEqual([{ type: 'text', text: `Orders of ${user.id}: none yet.` }]);
    await client.close();

    // An access token that has ended is replaced by the refresh token.
    const tokens = keeper.tokens();
    keeper.saveTokens({ ...tokens, access_token: `${tokens?.access_token}x` } as never);
    const again = await connect(open());
    expect((await again.listTools()).tools).toHaveLength(1);
    await again.close();
    expect(keeper.tokens()?.refresh_token).not.toBe(tokens?.refresh_token);
  } finally {
    example.close();
  }
});
