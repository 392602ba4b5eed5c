/** A network between the service and Postgres that fails on demand. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { readTarget, socketOf } from '../database/connection/open-client.ts';

/**
 * `pass`: everything works. `freeze`: connections stay open and new ones are accepted, but no byte passes. `reset`:
 * all connections are reset, new ones at once. `close`: all connections are closed in order. `refuse`: all connections
 * are reset, and nothing listens. `trickle`: a byte per second passes each way. `delay`: everything arrives later.
 */
export type ProxyMode = 'pass' | 'freeze' | 'reset' | 'close' | 'refuse' | 'trickle' | 'delay';

/** The delay each way in the mode `delay`. */
const DELAY_MS = 50;

export class TcpProxy implements AsyncDisposable {
  /** How many connections there have been in total, including those that were reset at once. */
  accepted = 0;
  /** For how long what the server sends is held back. */
  holdMs = 0;
  readonly #target: NetConnectOpts;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;
  #mode: ProxyMode = 'pass';

  private constructor(target: NetConnectOpts) {
    this.#target = target;
  }

  static async open(databaseUrl: string): Promise<TcpProxy> {
    const [server] = readTarget(databaseUrl).servers;
    if (!server) throw new Error('No server');
    const path = socketOf(server);
    const target = path ? { path } : server;
    const proxy = new TcpProxy(target);
    await proxy.setMode('pass');
    return proxy;
  }

  /** Returns the URL of the database through the proxy. */
  through(databaseUrl: string): string {
    return Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${this.#port}` }).href;
  }

  /** How many connections are open. */
  get connections(): number {
    return this.#sockets.size / 2;
  }

  async setMode(mode: ProxyMode): Promise<void> {
    this.#mode = mode;
    if (mode === 'refuse') {
      this.#server?.close();
      this.#server = undefined;
    }
    for (const socket of this.#sockets) {
      if (mode === 'reset' || mode === 'refuse') reset(socket);
      else if (mode === 'close') socket.end();
      if (mode === 'freeze') socket.pause();
      else socket.resume();
    }
    if (mode === 'refuse' || this.#server) return;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
    await once(this.#server.listen(this.#port, '127.0.0.1'), 'listening');
    // A TCP server has an AddressInfo.
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.setMode('refuse');
  }

  #accept(client: Socket): void {
    this.accepted++;
    if (this.#mode === 'close') return void client.on('error', () => {}).end();
    if (this.#mode === 'reset' || this.#mode === 'refuse') return void client.resetAndDestroy();
    const server = connect(this.#target);
    this.#pipe(client, server, () => 0);
    this.#pipe(server, client, () => this.holdMs);
  }

  #pipe(from: Socket, to: Socket, readHoldMs: () => number): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    let passed = Promise.resolve();
    from.on('data', (chunk: Buffer) => {
      const dueAt = performance.now() + (this.#mode === 'delay' ? DELAY_MS : 0) + readHoldMs();
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
