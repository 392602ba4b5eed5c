/** A network between the service and Postgres that fails on demand. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readSocketDirectory } from '../../src/database/open-client.ts';

/**
 * `pass`: everything works. `freeze`: connections stay open and new ones are accepted, but no byte passes. `reset`:
 * all connections are reset, new ones at once. `close`: all connections are closed in order. `refuse`: all connections
 * are reset, and nothing listens. `trickle`: a byte per second passes each way. `delay`: everything arrives later.
 */
export type ProxyMode = 'pass' | 'freeze' | 'reset' | 'close' | 'refuse' | 'trickle' | 'delay';

/** The delay each way in the mode `delay`. */
export const DELAY_MS = 50;

export class TcpProxy implements AsyncDisposable {
  readonly #target: NetConnectOpts;
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #server: Server;
  #mode: ProxyMode = 'pass';
  #accepted = 0;

  private constructor(target: NetConnectOpts, server: Server, port: number) {
    this.#target = target;
    this.#port = port;
    this.#server = server;
    server.on('connection', (client) => this.#accept(client));
  }

  static async open(databaseUrl: string): Promise<TcpProxy> {
    const { hostname: host, port } = new URL(databaseUrl);
    const directory = readSocketDirectory(databaseUrl);
    const target = directory ? { path: `${directory}/.s.PGSQL.${port}` } : { host, port: Number(port) };
    const server = await listen(0);
    return new TcpProxy(target, server, (server.address() as AddressInfo).port);
  }

  /** Returns the URL of the database through the proxy. */
  through(databaseUrl: string): string {
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${this.#port}`;
    return url.href;
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#sockets.size / 2;
  }

  /** How many connections there have been in total, including those that were reset at once. */
  get accepted(): number {
    return this.#accepted;
  }

  async setMode(mode: ProxyMode): Promise<void> {
    this.#mode = mode;
    if (mode === 'refuse' && this.#server.listening) this.#server.close();
    if (mode === 'reset' || mode === 'refuse') for (const socket of this.#sockets) reset(socket);
    if (mode === 'close') for (const socket of this.#sockets) socket.end();
    if (mode === 'freeze') for (const socket of this.#sockets) socket.pause();
    if (mode !== 'refuse' && !this.#server.listening) {
      this.#server = await listen(this.#port);
      this.#server.on('connection', (client) => this.#accept(client));
    }
    if (mode !== 'freeze') for (const socket of this.#sockets) socket.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.setMode('refuse');
  }

  #accept(client: Socket): void {
    this.#accepted++;
    if (this.#mode === 'close') {
      client.on('error', () => {}).end();
      return;
    }
    if (this.#mode === 'reset' || this.#mode === 'refuse') {
      client.resetAndDestroy();
      return;
    }
    const server = connect(this.#target);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      let passed = Promise.resolve();
      from.on('data', (chunk: Buffer) => {
        const dueAt = performance.now() + (this.#mode === 'delay' ? DELAY_MS : 0);
        passed = passed.then(() => this.#pass(chunk, to, dueAt));
      });
      from.on('end', () => passed.then(() => to.end()));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#mode === 'freeze') from.pause();
    }
  }

  async #pass(chunk: Buffer, to: Socket, dueAt: number): Promise<void> {
    const earlyMs = dueAt - performance.now();
    if (earlyMs > 0) await sleep(earlyMs);
    let rest = chunk;
    while (this.#mode === 'trickle' && rest.length > 1 && !to.destroyed) {
      to.write(rest.subarray(0, 1));
      rest = rest.subarray(1);
      for (let waited = 0; waited < 1_000 && this.#mode === 'trickle'; waited += 50) await sleep(50);
    }
    if (!to.destroyed) to.write(rest);
  }
}

/** Unix sockets know no reset. */
function reset(socket: Socket): void {
  if (socket.remoteFamily) socket.resetAndDestroy();
  else socket.destroy();
}

async function listen(port: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
