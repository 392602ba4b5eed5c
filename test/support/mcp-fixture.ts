/** The MCP server of the documentation behind Usher, and people who let assistants in that nobody has registered. */
import { join } from 'node:path';
import { MCP_SERVER, startClientServers } from './client-metadata.ts';
import { startExample } from './example-application.ts';
import { findFreePort } from './free-port.ts';
import { LoginBrowser } from './login-browser.ts';
import { LoginFixture } from './login-fixture.ts';
import { createRsaJwk, loginAt } from './oidc.ts';
import { REPOSITORY } from './process.ts';
import { createTenant } from './service.ts';

export type McpFixture = Awaited<ReturnType<typeof openMcp>>;

export async function openMcp() {
  await using opening = new AsyncDisposableStack();
  const clients = opening.use(await startClientServers());
  const config = {
    ...clients.config,
    publicUrl: undefined,
  };
  const fixture = opening.use(await LoginFixture.open({ config: config as never, oidcSigningKeys: [createRsaJwk()] }));
  const { service } = fixture;
  const issuer = `http://localhost:${new URL(service.url).port}`;
  const port = String(await findFreePort());
  const resource = `http://localhost:${port}/mcp`;
  const shop = await createTenant(service, { ...MCP_SERVER, resourceUri: resource });
  const env = { USHER_URL: issuer, CLIENT_ID: shop.clientId, API_KEY: shop.apiKey, PORT: port, RESOURCE: resource };
  const example = await startExample(join(REPOSITORY, 'test/examples/mcp/server.ts'), env);
  opening.defer(() => example.close());

  /** Signs a new person in at the URL to which a client sends the browser, and allows it. Returns the way back. */
  async function letIn(asked: URL) {
    const browser = new LoginBrowser(service);
    const { location } = await browser.open(asked.pathname + asked.search);
    const { submit, user } = await fixture.readyByEmail({ browser, login: loginAt(location) });
    const consent = new URL((await submit()).location ?? '');
    const page = await browser.open(consent.pathname + consent.search);
    const answer = await browser.submit(page, '/oidc/consent', { choice: 'allow' });
    return { user, answer: new URL(answer.location ?? '') };
  }

  const stack = opening.move();
  return {
    clients,
    fixture,
    issuer,
    letIn,
    resource,
    service,
    shop,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
