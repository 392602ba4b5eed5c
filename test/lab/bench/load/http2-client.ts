import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import type { WireReply, WireRequest } from '../protocols.ts';
import type { LoadClient } from './apply-load.ts';

/** Opens a client of HTTP/2 with prior knowledge, which spreads its requests over a few sessions. */
export async function openHttp2Client(port: number, sessions: number): Promise<LoadClient> {
  const all = await Promise.all(Array.from({ length: sessions }, () => openSession(port)));
  let sent = 0;
  return {
    send(request) {
      const session = all[sent++ % all.length];
      return session ? sendOver(session, request) : Promise.reject(new Error('No session'));
    },
    close() {
      for (const session of all) session.destroy();
    },
  };
}

async function openSession(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  await once(session, 'connect');
  // The streams report errors too. An error without a listener would end the process.
  session.on('error', () => {});
  return session;
}

function sendOver(session: ClientHttp2Session, { method, path, headers, body }: WireRequest): Promise<WireReply> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': method, ':path': path, ...headers });
    const chunks: Buffer[] = [];
    let status = 0;
    let grpcStatus: string | undefined;
    stream.on('response', (head) => {
      status = head[':status'] ?? 0;
      if (head['grpc-status']) grpcStatus = String(head['grpc-status']);
    });
    stream.on('trailers', (trailers) => {
      grpcStatus = String(trailers['grpc-status']);
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () =>
      resolve({ status, grpcStatus, body: chunks[0] && chunks.length === 1 ? chunks[0] : Buffer.concat(chunks) }),
    );
    stream.on('error', reject);
    stream.on('close', () => reject(new Error('The server closed the stream')));
    stream.end(body);
  });
}
