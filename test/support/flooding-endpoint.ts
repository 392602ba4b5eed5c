/** An endpoint in a process of its own, so that its work does not count as Usher's. The path names the flood. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { FLOOD_PARTS } from './floods.ts';

const BLOCK_BYTES = 64 * 1024;

const server = createServer(async (socket) => {
  socket.on('error', () => {});
  const [request] = await once(socket, 'data');
  const name = /^POST \/(\S+)/.exec(String(request))?.[1] ?? '';
  const [first, next] = FLOOD_PARTS[name] ?? ['', ''];
  const block = next.repeat(Math.ceil(BLOCK_BYTES / next.length));
  const write = () => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.resume().on('drain', write).write(first);
  write();
}).listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.((server.address() as AddressInfo).port);
