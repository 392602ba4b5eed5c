/** Downloads whose client takes nothing. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CSV, Exporter } from '../../../src/api/operations/exporter.ts';
import type { HttpContext } from '../../../src/http/http-context.ts';

const PAGE_BYTES = 100_000;
const STALL_MS = 500;
const CANCELED = expect.objectContaining({ reason: 'CANCELED' });

let stack: AsyncDisposableStack;
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

/** Serves so many pages, and returns what becomes of it. */
async function serve(pages: number, { pageBytes = PAGE_BYTES, stallMs = STALL_MS } = {}) {
  const exporter = new Exporter(new AbortController().signal, { info: () => {} }, { max: 2, stallMs });
  const outcomes: unknown[] = [];
  const seen = { pages: 0, mostBuffered: 0 };
  const readPage = (response: ServerResponse) => async () => {
    seen.pages++;
    seen.mostBuffered = Math.max(seen.mostBuffered, response.writableLength);
    return { rows: ['x'.repeat(pageBytes)], nextPageToken: seen.pages < pages ? 'more' : '' };
  };
  const server = createServer(async (request, response) => {
    const given = { filename: 'x.csv', type: CSV, head: () => 'head', toLine: (row: string) => row };
    const context = { commonHeaders: {}, request, response } as unknown as HttpContext;
    outcomes.push(await exporter.send(context, { ...given, readPage: readPage(response) }).catch((error) => error));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  stack.defer(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { port, outcomes, seen };
}

async function ask(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').pause();
  stack.defer(() => void socket.destroy());
  await once(socket, 'connect');
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
  return socket;
}

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => {});
  socket.resume();
  if (!socket.closed) await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

test('a client that reads nothing is given up, and holds two pages in memory at most', async () => {
  const { port, outcomes, seen } = await serve(10_000);
  const socket = await ask(port);
  await expect.poll(() => outcomes, { timeout: 60_000 }).toEqual([CANCELED]);
  expect(seen.pages).toBeLessThan(1_000);
  expect(seen.mostBuffered).toBeLessThan(2.5 * PAGE_BYTES);
  // The client sees that the answer is not whole.
  expect(await readAll(socket)).not.toMatch(/\r\n0\r\n\r\n$/);
});

test('a client that does not take the last page is given up, too', async () => {
  // More than fits between the processes, so that all is read before it is sent.
  const { port, outcomes, seen } = await serve(1, { pageBytes: 64_000_000 });
  await ask(port);
  await expect.poll(() => outcomes, { timeout: 60_000 }).toEqual([CANCELED]);
  expect(seen.pages).toBe(1);
});

test('a client that leaves ends its download, which is no unexpected error', async () => {
  const { port, outcomes } = await serve(10_000);
  const socket = await ask(port);
  await once(socket.resume(), 'data');
  socket.destroy();
  await expect.poll(() => outcomes, { timeout: 60_000 }).toEqual([CANCELED]);
});

test('a client that reads gets all of it, in the end', async () => {
  const { port, outcomes, seen } = await serve(100, { stallMs: 60_000 });
  const socket = await ask(port);
  const whole = readAll(socket);
  await expect.poll(() => outcomes, { timeout: 60_000 }).toEqual([undefined]);
  socket.end();
  expect(await whole).toMatch(/\r\n0\r\n\r\n$/);
  expect(seen.pages).toBe(100);
});
