/** Serves `/metrics` on a separate port. Limits keep its clients from slowing calls down. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Registry } from '@prometheus-io/client';
import type { Logger } from 'pino';
import { acceptsCoding } from '../encoding/accepts-coding.ts';
import type { Collect } from './collect.ts';
import { share } from './sources.ts';

/** How long a client may take to send a request, and to read the response. */
const CLIENT_TIMEOUT_MS = 5_000;
const MAX_CONNECTIONS = 32;
const MAX_HEADER_BYTES = 8_192;
/** How long clients share a scrape, so that there is at most one per second. */
const SHARED_MS = 1_000;
const TEXT_TYPE = 'text/plain; charset=utf-8';

interface MetricsServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly logger: Logger;
}

/** Binds the port. @throws the error of Node, such as EADDRINUSE */
export async function openMetricsServer({ host, port, logger }: MetricsServerOptions) {
  let scrape: (() => ReturnType<typeof scrapeNow>) | undefined;
  const options = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: CLIENT_TIMEOUT_MS,
    requestTimeout: CLIENT_TIMEOUT_MS,
    connectionsCheckingInterval: 1_000,
  };
  const server = createServer(options, async ({ method = '', url = '', headers }, response) => {
    response.on('error', () => {});
    if (url.split('?', 1)[0] !== '/metrics') return sendText(response, 404, 'Not found\n');
    if (method !== 'GET' && method !== 'HEAD')
      return sendText(response, 405, 'Method not allowed\n', { allow: 'GET, HEAD' });
    if (!scrape) return sendText(response, 503, 'Service unavailable\n');
    try {
      const { contentType, text, zip } = await scrape();
      const isZipped = acceptsCoding(headers['accept-encoding'], 'gzip');
      const coding = isZipped && { 'content-encoding': 'gzip' };
      const body = isZipped ? await zip() : text;
      sendText(response, 200, body, { 'content-type': contentType, vary: 'accept-encoding', ...coding });
    } catch (error) {
      logger.error({ err: error }, 'scrape failed');
      sendText(response, 500, 'Internal error\n');
    }
  });
  server.maxConnections = MAX_CONNECTIONS;
  // Otherwise thousands of pipelined requests would keep thousands of responses in memory.
  server.maxRequestsPerSocket = 1;
  server.on('dropRequest', (_request, socket) => socket.destroy());
  server.setTimeout(CLIENT_TIMEOUT_MS);
  server.on('clientError', (_error, socket) => socket.destroy());
  server.listen({ port, host });
  await once(server, 'listening');
  // A connection may be lost before it is accepted.
  server.on('error', (error) => logger.error({ err: error }, 'unexpected error'));
  // The address of a listening TCP server has this type.
  const address = server.address() as AddressInfo;
  const url = `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}/metrics`;
  return {
    url,
    /** Begins to answer scrapes, which got 503 before. */
    serve(collect: Collect) {
      scrape = share(() => scrapeNow(collect), SHARED_MS);
      logger.info({ url }, 'metrics listening');
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function scrapeNow(collect: Collect) {
  const registry = Registry.aggregate([await collect()]);
  const text = await registry.metrics();
  let zipped: Promise<Buffer> | undefined;
  const zip = () => {
    // 2.25 MB become 64 kB in 6 ms. Level 6 takes twice as long for 50 kB. Clients that share the scrape share the bytes.
    zipped ??= promisify(gzip)(text, { level: 1 });
    return zipped;
  };
  return { contentType: registry.contentType, text, zip };
}

function sendText(
  response: ServerResponse,
  status: number,
  text: string | Buffer,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': TEXT_TYPE, 'content-length': Buffer.byteLength(text), ...headers });
  // For HEAD, Node omits the body.
  response.end(text);
}
