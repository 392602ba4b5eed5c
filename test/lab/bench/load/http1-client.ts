/**
 * HTTP/1.1 on plain sockets. Of a response it reads only the status and the length. A client of `node:http`
 * would use more CPU time than some of the servers.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { WireReply, WireRequest } from '../protocols.ts';
import type { LoadClient } from './apply-load.ts';

/** Opens a client for at most as many requests in flight as it has connections. */
export async function openHttp1Client(port: number, connections: number): Promise<LoadClient> {
  const all = await Promise.all(Array.from({ length: connections }, () => openConnection(port)));
  const idle = [...all];
  return {
    async send(request) {
      const connection = idle.pop();
      if (!connection) throw new Error('More requests in flight than connections');
      try {
        return await connection.send(request);
      } finally {
        idle.push(connection);
      }
    },
    close() {
      for (const connection of all) connection.close();
    },
  };
}

async function openConnection(port: number): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  return new Connection(socket, `127.0.0.1:${port}`);
}

class Connection {
  readonly #socket: Socket;
  readonly #host: string;
  #received: Buffer = Buffer.alloc(0);
  #reply: PromiseWithResolvers<WireReply> | undefined;

  constructor(socket: Socket, host: string) {
    this.#host = host;
    this.#socket = socket;
    this.#socket.on('data', (chunk) => this.#receive(chunk));
    this.#socket.on('error', (error) => this.#reply?.reject(error));
    this.#socket.on('close', () => this.#reply?.reject(new Error('The server closed the connection')));
  }

  send({ method, path, headers, body }: WireRequest): Promise<WireReply> {
    let head = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}\r\n`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    if (body.length > 0) head += `content-length: ${body.length}\r\n`;
    this.#reply = Promise.withResolvers();
    if (this.#socket.destroyed) this.#reply.reject(new Error('The server has closed the connection'));
    else this.#socket.write(Buffer.concat([Buffer.from(`${head}\r\n`, 'latin1'), body]));
    return this.#reply.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const taken = takeReply(this.#received);
    if (taken instanceof Error) this.#socket.destroy(taken);
    if (!taken || taken instanceof Error) return;
    this.#received = this.#received.subarray(taken.length);
    this.#reply?.resolve(taken.reply);
  }
}

/** Returns the first response in the bytes and its length, or undefined if it is incomplete. */
function takeReply(received: Buffer): { reply: WireReply; length: number } | Error | undefined {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const head = received.toString('latin1', 0, headEnd);
  const contentLength = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (contentLength === undefined) return new Error('The reply has no content-length');
  const length = headEnd + 4 + Number(contentLength);
  if (received.length < length) return undefined;
  return { reply: { status: Number(head.slice(9, 12)), body: received.subarray(headEnd + 4, length) }, length };
}
