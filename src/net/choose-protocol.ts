import { once } from 'node:events';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/**
 * Which protocol the connection speaks: over TLS the one negotiated by ALPN; in cleartext HTTP/2 when
 * the first bytes are its preface (RFC 9113, section 3.4), which are put back for the server to read.
 * `none` when the connection ends, or `timeoutMs` pass, before that is known.
 */
export async function chooseProtocol(socket: Socket, timeoutMs: number): Promise<'h2' | 'http/1.1' | 'none'> {
  if (socket instanceof TLSSocket) return socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1';

  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  let seen = Buffer.alloc(0);
  try {
    while (!socket.destroyed) {
      const chunk: Buffer | null = socket.read();
      if (chunk) seen = Buffer.concat([seen, chunk]);
      const common = Math.min(seen.length, HTTP2_PREFACE.length);
      const isPreface = seen.subarray(0, common).equals(HTTP2_PREFACE.subarray(0, common));
      if (!isPreface || common === HTTP2_PREFACE.length || socket.readableEnded) {
        socket.unshift(seen);
        return isPreface ? 'h2' : 'http/1.1';
      }
      await Promise.race([once(socket, 'readable'), once(socket, 'end'), once(socket, 'close')]);
    }
  } catch {
    socket.destroy();
  } finally {
    clearTimeout(timer);
  }
  return 'none';
}
