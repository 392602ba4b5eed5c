/** A provider over TLS, the address of a client on this machine, and a browser that visits both. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { findFreePort } from '../free-port.ts';
import { Browser, type Page } from './browser.ts';
import { startUsherProvider, trustCertificate } from './usher-provider.ts';

interface ClientOptions {
  /** Where the client gets its answer, below its address. */
  readonly callback?: string;
  /** Where it is told of logouts. */
  readonly backchannel?: string;
  /** Where its users are after a logout. */
  readonly loggedOut?: string;
  readonly requirePkce?: boolean;
  readonly isPublic?: boolean;
}

export type ClientFixture = Awaited<ReturnType<typeof openClientFixture>>;

/** Everything ends with the test. */
export async function openClientFixture({
  callback = '/callback',
  backchannel,
  loggedOut = '/signed-out',
  ...options
}: ClientOptions = {}) {
  const tls = await trustCertificate();
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = await startUsherProvider({
    ...options,
    tls,
    redirectUris: [origin + callback],
    loggedOutUris: [origin + loggedOut],
    ...(backchannel !== undefined && { backchannelLogoutUri: origin + backchannel }),
  });
  onTestFinished(() => provider[Symbol.asyncDispose]());
  const { issuer } = provider.route;
  const browser = new Browser(provider.route, origin);

  /** Opens the address, signs in where the provider asks for it, and returns what the person sees in the end. */
  async function visit(url: string, body?: Readonly<Record<string, string>>): Promise<Page> {
    let page = await browser.open(url, body);
    while (page.url.startsWith(issuer)) {
      const next = await provider.handlePage(browser, page, () => {});
      if (!next) break;
      page = next;
    }
    return page;
  }

  /** Serves the client at its address. */
  async function serve(listener: RequestListener): Promise<void> {
    const server = createServer(listener).listen(port, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
  }

  return {
    provider,
    issuer,
    client: provider.client,
    tls,
    port,
    origin,
    callback: origin + callback,
    browser,
    visit,
    serve,
  };
}
