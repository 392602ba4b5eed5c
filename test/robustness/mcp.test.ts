/** The MCP server of the documentation, with the client of the MCP TypeScript SDK. */
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, test } from 'vitest';
import { openMcp } from '../support/mcp-fixture.ts';

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
  await using mcp = await openMcp();
  const { clients, issuer, letIn, resource } = mcp;
  const keeper = new Keeper(clients.add({ redirect_uris: ['http://localhost/callback'] }));
  const open = () => new StreamableHTTPClientTransport(new URL(resource), { authProvider: keeper });
  const connect = async (transport: StreamableHTTPClientTransport) => {
    const client = new Client({ name: 'assistant', version: '1.0.0' });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    return client;
  };
  const first = open();
  await expect(connect(first)).rejects.toThrow(UnauthorizedError);

  const { user, answer } = await letIn(keeper.asked ?? new URL(issuer));
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
});
