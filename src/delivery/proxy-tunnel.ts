import { request as requestHttp } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { urlToHttpOptions } from 'node:url';

/** The limit on the answer to CONNECT. */
const MAX_HEAD_BYTES = 8 * 1024;
const FAILED = 'the proxy cannot be reached, or gave no valid answer';

/** The proxy has opened no tunnel. The message is a fixed text that applications may see. */
export class ProxyError extends Error {}

/**
 * Opens a connection to `target`, a host with a port, through an HTTP proxy. An aborted signal closes an unfinished one.
 * The agent of Node does neither limit the answer of the proxy nor end with the request that needs the connection.
 */
export function openTunnel(proxyUrl: string, target: string, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const wire = connectToProxy(proxyUrl);
  const { auth } = urlToHttpOptions(new URL(proxyUrl));
  const credentials = auth ? { 'proxy-authorization': `Basic ${Buffer.from(auth).toString('base64')}` } : {};
  const request = requestHttp({
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...credentials },
    maxHeaderSize: MAX_HEAD_BYTES,
    createConnection: () => wire,
    signal,
  });
  // Node takes its own listeners away as soon as it has parsed the head, also when what limits the answer ends it.
  const fail = (cause: Error) => reject(new ProxyError(FAILED, { cause }));
  wire.on('error', fail);
  // The parser does not count the spaces around a value.
  const limit = () => {
    if (wire.bytesRead > MAX_HEAD_BYTES) wire.destroy(new Error('The answer of the proxy is too long'));
  };
  wire.on('data', limit);
  request.on('connect', ({ statusCode = 0 }, _, head) => {
    wire.off('data', limit);
    // TLS servers do not speak first.
    if (statusCode >= 200 && statusCode < 300 && head.length === 0 && !wire.destroyed) return resolve(wire);
    wire.destroy();
    return reject(new ProxyError(statusCode < 300 ? FAILED : 'the proxy refused it'));
  });
  request.on('error', fail);
  request.on('close', () => reject(new ProxyError(FAILED)));
  request.end();
  return promise;
}

function connectToProxy(proxyUrl: string): Socket {
  const { protocol, hostname, port } = new URL(proxyUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'http:') return connect({ host, port: Number(port || 80) });
  return connectTls({ host, port: Number(port || 443), servername: /[^\d.:]/.test(host) ? host : '' });
}
