/** A proxy of HTTP/1.1 before Usher, with the mistakes of its settings that operators make. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface ProxyMistakes {
  /** Answers every request itself. */
  readonly answer?: { readonly status: number; readonly headers?: Readonly<Record<string, string>> };
  /** The host that it sends. By default that of the caller. */
  readonly host?: string;
  /** What it does with X-Forwarded-For. By default it adds the address of the caller. */
  readonly forwardedFor?: 'none' | 'as it is';
  readonly forwardedProto?: string;
  /** Keeps an answer back until it ends. */
  readonly isBuffering?: boolean;
  readonly maxBodyBytes?: number;
  readonly maxHeaderSize?: number;
}

export async function startProxy(port: number, mistakes: ProxyMistakes = {}) {
  const { answer, host, forwardedFor, forwardedProto, isBuffering, maxBodyBytes = 1_000_000, maxHeaderSize } = mistakes;
  const server = createServer({ ...(maxHeaderSize && { maxHeaderSize }) }, (asked, reply) => {
    if (answer) return void reply.writeHead(answer.status, answer.headers).end();
    if (Number(asked.headers['content-length'] ?? 0) > maxBodyBytes) return void reply.writeHead(413).end();
    const { 'x-forwarded-for': given, ...others } = asked.headers;
    const caller = asked.socket.remoteAddress ?? '';
    const chain = forwardedFor === 'as it is' ? given : [given ?? [], caller].flat().join(', ');
    const headers: IncomingHttpHeaders = {
      ...others,
      ...(host && { host }),
      ...(forwardedFor !== 'none' && chain !== undefined && { 'x-forwarded-for': chain }),
      ...(forwardedProto && { 'x-forwarded-proto': forwardedProto }),
    };
    const { method, url: path } = asked;
    const onward = request({ host: '127.0.0.1', port, method, path, headers }, async (answered) => {
      const { statusCode = 502 } = answered;
      if (isBuffering) {
        const whole = await buffer(answered).catch(() => '');
        reply.writeHead(statusCode, answered.headers).end(whole);
      } else {
        reply.writeHead(statusCode, answered.headers);
        answered.pipe(reply);
      }
    });
    onward.on('error', () => reply.destroy());
    reply.on('close', () => onward.destroy());
    asked.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
