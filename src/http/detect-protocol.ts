import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

const HTTP2_PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/**
 * Returns the protocol of the connection, or `none` if the connection ends before that is known. Over TLS, ALPN has
 * negotiated the protocol. In cleartext, HTTP/2 begins with the preface (RFC 9113, section 3.4); the bytes that were
 * read are pushed back.
 */
export async function detectProtocol(socket: Socket): Promise<'h2' | 'http/1.1' | 'none'> {
  if (socket instanceof TLSSocket) return socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1';

  const { promise, resolve } = Promise.withResolvers<'h2' | 'http/1.1' | 'none'>();
  let seen = Buffer.alloc(0);
  const onReadable = () => {
    for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) seen = Buffer.concat([seen, chunk]);
    const common = Math.min(seen.length, HTTP2_PREFACE.length);
    const isPreface = seen.subarray(0, common).equals(HTTP2_PREFACE.subarray(0, common));
    if (!isPreface) resolve('http/1.1');
    else if (common === HTTP2_PREFACE.length) resolve('h2');
  };
  const onEnd = () => resolve('none');
  socket.on('readable', onReadable).once('end', onEnd).once('close', onEnd);
  // Bytes that arrived before the listener was added emit no event.
  onReadable();

  const protocol = await promise;
  socket.off('readable', onReadable).off('end', onEnd).off('close', onEnd);
  if (protocol === 'none') socket.destroy();
  else socket.unshift(seen);
  return protocol;
}
