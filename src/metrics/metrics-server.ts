/** Serves `/metrics` on a port of its own. Whatever its clients do, calls go on. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { Collect } from './collect.ts';
import { Scraper } from './scraper.ts';

/** How long a client may take to send a request, and to read the response. */
const CLIENT_TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 32;
const MAX_HEADER_BYTES = 8_192;
const TEXT_TYPE = 'text/plain; charset=utf-8';

export interface MetricsServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface MetricsServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly collect: Collect;
  readonly logger: Logger;
}

/** Rejects with Node's error, such as EADDRINUSE. */
export async function serveMetrics({ host, port, collect, logger }: MetricsServerOptions): Promise<MetricsServer> {
  const scraper = new Scraper(collect);
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: CLIENT_TIMEOUT_MS,
    requestTimeout: CLIENT_TIMEOUT_MS,
    keepAliveTimeout: CLIENT_TIMEOUT_MS,
    connectionsCheckingInterval: 1_000,
  };
  const server = createServer(options, async ({ method = '', url = '' }, response) => {
    response.on('error', () => {});
    if (url.split('?', 1)[0] !== '/metrics') return sendText(response, 404, 'Not found\n');
    if (method !== 'GET' && method !== 'HEAD')
      return sendText(response, 405, 'Method not allowed\n', { allow: 'GET, HEAD' });
    try {
      const { contentType, text } = await scraper.scrape();
      sendText(response, 200, text, { 'content-type': contentType });
    } catch (error) {
      logger.error({ err: error }, 'scrape failed');
      sendText(response, 500, 'Internal error\n');
    }
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.setTimeout(CLIENT_TIMEOUT_MS);
  server.on('clientError', (_error, socket) => socket.destroy());
  server.listen({ port, host });
  await once(server, 'listening');
  // An address that is bound has this form.
  const address = server.address() as AddressInfo;
  const url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}/metrics`;
  logger.info({ url }, 'metrics listening');
  return {
    url,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function sendText(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': TEXT_TYPE, 'content-length': Buffer.byteLength(text), ...headers });
  // Node leaves out the body of an answer to HEAD.
  response.end(text);
}
