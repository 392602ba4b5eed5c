/**
 * HTTP/1.1 with pipelining: many requests in one write. It uses so little CPU time that one client process
 * keeps several server processes busy.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { WireReply } from '../protocols/protocol.ts';
import { takeReply } from './http1-client.ts';

const CONNECTIONS = 16;
/** Requests in one write. */
const DEPTH = 16;
/** How long a connection may be silent. */
const TIMEOUT_MS = 10_000;

export interface PipelinedRequest {
  readonly bytes: Buffer;
  /** @throws Error if the response is not the expected one */
  check(reply: WireReply): void;
}

/**
 * Opens connections one after the other. Disposing of the stack closes them. Each gets its first response before
 * the next one opens, so that the workers share them evenly.
 */
export async function openPipelines(
  stack: DisposableStack,
  port: number,
  request: PipelinedRequest,
): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < CONNECTIONS) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    stack.defer(() => socket.destroy());
    await once(socket, 'connect');
    await applyPipelinedLoad([socket], request, DEPTH);
    sockets.push(socket);
  }
  return sockets;
}

/** Sends at least `count` requests, the same number over each connection. @throws Error if a response is wrong */
export async function applyPipelinedLoad(
  sockets: readonly Socket[],
  request: PipelinedRequest,
  count: number,
): Promise<{ requests: number; seconds: number }> {
  const startedAt = performance.now();
  const batches = Math.ceil(count / (sockets.length * DEPTH));
  await Promise.all(sockets.map((socket) => sendBatches(socket, request, batches)));
  return { requests: sockets.length * batches * DEPTH, seconds: (performance.now() - startedAt) / 1000 };
}

/** Sends each batch when all responses to the one before have come. */
function sendBatches(socket: Socket, { bytes, check }: PipelinedRequest, batches: number): Promise<void> {
  const batch = Buffer.concat(Array.from({ length: DEPTH }, () => bytes));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let received: Buffer = Buffer.alloc(0);
  let answered = 0;
  const receive = (chunk: Buffer) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
    for (let taken = takeReply(received); taken; taken = takeReply(received)) {
      if (taken instanceof Error) throw taken;
      check(taken.reply);
      received = received.subarray(taken.length);
      answered++;
      if (answered === batches * DEPTH) resolve();
      else if (answered % DEPTH === 0) socket.write(batch);
    }
    silence.refresh();
  };
  const onData = (chunk: Buffer) => {
    try {
      receive(chunk);
    } catch (error) {
      reject(error);
    }
  };
  const fail = () => reject(new Error('The server closed the connection, or does not answer'));
  const silence = setTimeout(fail, TIMEOUT_MS);
  socket.on('data', onData).once('close', fail).write(batch);
  return promise.finally(() => {
    clearTimeout(silence);
    socket.off('data', onData).off('close', fail);
  });
}
