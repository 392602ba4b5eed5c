/**
 * Measures one server in a process of its own: requests come over connections in memory, and Postgres is replayed. What is
 * left is the CPU time of the server's own thread. `main.ts` starts it, and gets the microseconds per call.
 */
import { readFileSync } from 'node:fs';
import { Server } from 'node:net';
import { openClient } from '../../../../src/database/connection/open-client.ts';
import { createLogger } from '../../../../src/log.ts';
import { readFullConfig } from '../../../../src/modules/modules.ts';
import { startServer } from '../../../../src/server.ts';
import { createNodeHttpServer } from '../baselines/node-http-server.ts';
import { createOperations } from '../baselines/operations.ts';
import { createCalls } from '../calls.ts';
import { prepareRequests } from '../load/prepare-requests.ts';
import { rest, type WireRequest } from '../protocols.ts';
import { runBench } from '../run-bench.ts';
import { prepareDatabase } from '../set-up.ts';
import { medianOf } from '../statistics.ts';
import { MemorySocket } from './memory-socket.ts';
import { REPLAYED_CALLS, replayConnections, replayQueries } from './replay.ts';

const CONNECTIONS = 16;
/** After so many of each call V8 has compiled what it will. */
const WARM_UP = 45_000;
const PASSES = 3;
const ROUNDS = 5;
const REQUESTS = 10_000;

await runBench(async (stack) => {
  const { fixtures, environment, directory } = await prepareDatabase(stack, CONNECTIONS, () => {});
  // It has no `.env`.
  process.chdir(directory);
  const config = readFullConfig({ ...environment, HOST: '127.0.0.1', PORT: '0' }, (path) => readFileSync(path, 'utf8'));
  const sql = openClient(config.databaseUrl ?? '', { max: 1, fetch_types: false });
  stack.defer(() => sql.end());
  const listening = awaitListening();
  if (process.argv[2] === 'node-http') {
    const operations = createOperations(replayQueries(sql), config);
    const server = createNodeHttpServer({ logger: createLogger(config.logLevel), operations }).listen(0, config.host);
    stack.defer(() => void server.close());
  } else {
    replayConnections(sql);
    const usher = await startServer(config);
    stack.defer(() => usher.close());
  }
  const server = await listening;
  const sockets = Array.from({ length: CONNECTIONS }, () => new MemorySocket());
  for (const socket of sockets) server.emit('connection', socket);

  const headers = { 'x-api-key': fixtures.apiKey };
  const subjects = createCalls(fixtures)
    .filter(({ name }) => REPLAYED_CALLS.includes(name))
    .map((call) => ({
      name: call.name,
      // One request: a replayed row belongs to it. Encoded for each measurement, since its auth token expires.
      encode: () => toBytes(prepareRequests(rest, call, { count: 1, firstNumber: 0, headers })[0]?.wire),
      costs: [] as number[],
    }));
  for (const { encode } of subjects) await send(sockets.slice(0, 1), encode(), 1);
  for (let pass = 0; pass < PASSES; pass++)
    for (const { encode } of subjects) await send(sockets, encode(), WARM_UP / PASSES);
  for (let round = 0; round < ROUNDS; round++)
    for (const { encode, costs } of subjects) costs.push(await send(sockets, encode(), REQUESTS));
  for (const socket of sockets) socket.destroy();
  process.send?.(subjects.map(({ name, costs }) => ({ name, micros: medianOf(costs) })));
  return true;
});

/** Resolves to the next server that listens. */
function awaitListening(): Promise<Server> {
  const { listen } = Server.prototype;
  return new Promise((resolve) => {
    Server.prototype.listen = function (this: Server, ...parameters: unknown[]) {
      Server.prototype.listen = listen;
      resolve(this);
      return Reflect.apply(listen, this, parameters);
    };
  });
}

function toBytes(request: WireRequest | undefined): Buffer {
  if (!request) throw new Error('There is no request');
  const { method, path, body } = request;
  const headers = { host: 'localhost', ...request.headers, ...(body.length > 0 && { 'content-length': body.length }) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), body]);
}

/** Sends the request so many times, one at a time on each connection. Returns the CPU time of each in microseconds. */
async function send(sockets: readonly MemorySocket[], request: Buffer, count: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let [sent, received] = [0, 0];
  const sendNext = (socket: MemorySocket) => {
    if (sent < count) socket.push(request);
    sent++;
  };
  const startedAt = process.threadCpuUsage();
  for (const socket of sockets) {
    socket.onResponse = (head) => {
      if (!/^HTTP\/1\.1 20[01] /.test(head)) reject(new Error(`Unexpected response: ${head}`));
      if (++received === count) resolve();
      // As from a network: not within the write of the response.
      setImmediate(sendNext, socket);
    };
    sendNext(socket);
  }
  await promise;
  const { user, system } = process.threadCpuUsage(startedAt);
  return (user + system) / count;
}
