/** An MCP server that lets in whoever has a token of Usher for it. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

const { USHER_URL = 'http://localhost:8080', CLIENT_ID = '', API_KEY = '', PORT = '3000' } = process.env;
/** The `resourceUri` of the application. */
const RESOURCE = process.env.RESOURCE ?? `http://localhost:${PORT}/mcp`;
const { origin, pathname } = new URL(RESOURCE);

/** RFC 9728: where clients get tokens for this server. */
const METADATA_PATH = `/.well-known/oauth-protected-resource${pathname}`;
const METADATA = {
  resource: RESOURCE,
  authorization_servers: [USHER_URL],
  scopes_supported: ['orders:read'],
  bearer_methods_supported: ['header'],
};

/** What Usher says of a token (RFC 7662). */
interface Token {
  readonly active: boolean;
  readonly aud?: string;
  readonly sub?: string;
  readonly scope?: string;
  readonly client_id?: string;
}

createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    if (response.headersSent) response.destroy();
    else sendJson(response, 503, { error: 'temporarily_unavailable' });
  });
}).listen(Number(PORT), () => console.log(`MCP server at ${RESOURCE}`));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname: path } = new URL(request.url ?? '/', origin);
  if (path === METADATA_PATH) return sendJson(response, 200, METADATA);
  if (path !== pathname) return sendJson(response, 404, { error: 'not_found' });
  const token = await introspect(/^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]);
  // A token for another resource is inactive here. The audience is compared all the same.
  if (!token.active || token.aud !== RESOURCE) return challenge(response, 401, 'error="invalid_token"');
  if (!(token.scope ?? '').split(' ').includes('orders:read')) {
    return challenge(response, 403, 'error="insufficient_scope", scope="orders:read"');
  }
  await serve(request, response, token);
}

/** Asks Usher, which answers within milliseconds. Answers may be kept for some seconds. */
async function introspect(token: string | undefined): Promise<Token> {
  if (token === undefined) return { active: false };
  const answer = await fetch(`${USHER_URL}/oidc/introspect`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${CLIENT_ID}:${API_KEY}`).toString('base64')}` },
    body: new URLSearchParams({ token }),
  });
  if (!answer.ok) throw new Error(`Usher has answered ${answer.status}`);
  return (await answer.json()) as Token;
}

function challenge(response: ServerResponse, status: number, error: string): void {
  const metadata = `resource_metadata="${origin}${METADATA_PATH}"`;
  response.setHeader('www-authenticate', `Bearer ${error}, ${metadata}, scope="orders:read"`);
  sendJson(response, status, {});
}

/** Each request has a server of its own, which knows its user. */
async function serve(request: IncomingMessage, response: ServerResponse, { sub }: Token): Promise<void> {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  server.registerTool('orders', { description: 'Lists the orders of the user' }, () => ({
    content: [{ type: 'text', text: `Orders of ${sub}: none yet.` }],
  }));
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => void server.close());
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  await transport.handleRequest(request, response);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
