/** A process that answers POSTs with 204, and tells its parent what has come when as many have come as it expects. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let expected = 0;
let received: [body: string, at: number][] = [];

process.on('message', ({ expect }: { expect: number }) => {
  expected = expect;
  received = [];
  process.send?.({ isReady: true });
});
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => {
    body += text;
  });
  request.on('end', () => {
    response.writeHead(204).end();
    received.push([body, performance.timeOrigin + performance.now()]);
    if (received.length === expected) process.send?.({ received });
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
