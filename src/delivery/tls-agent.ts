/** An agent for HTTPS that knows how many bytes each TCP connection below TLS has received. */
import type { ClientRequestArgs } from 'node:http';
import { Agent, type AgentOptions } from 'node:https';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { openTunnel } from './proxy-tunnel.ts';

/** The TCP socket of each TLS socket. */
const wires = new WeakMap<object, Socket>();

/** What the agent reads from the options of a request. Node passes them on. */
export interface TlsRequestOptions {
  /** Aborted when the attempt is over: a tunnel that is not open by then is closed. */
  readonly attemptSignal: AbortSignal;
}

type Callback = (error: Error | null, stream: Duplex) => void;

export class TlsAgent extends Agent {
  readonly #proxyUrl: string | undefined;

  constructor(options: AgentOptions, proxyUrl: string | undefined) {
    super(options);
    this.#proxyUrl = proxyUrl;
  }

  override createConnection(options: ClientRequestArgs & Partial<TlsRequestOptions>, callback?: Callback) {
    // Node has merged the options of the socket into those of the request.
    if (!this.#proxyUrl) return this.#wrap(connect(options as NetConnectOpts), options, callback);
    const { host, port, attemptSignal = AbortSignal.abort() } = options;
    const target = `${host?.includes(':') ? `[${host}]` : host}:${port}`;
    openTunnel(this.#proxyUrl, target, attemptSignal)
      .then((wire) => this.#wrap(wire, options) as Duplex)
      .then(
        (socket) => callback?.(null, socket),
        (error) => callback?.(error, undefined as unknown as Duplex),
      );
    return undefined;
  }

  #wrap(wire: Socket, options: ClientRequestArgs, callback?: Callback): Duplex | null | undefined {
    const below: object = { socket: wire };
    const socket = super.createConnection({ ...options, ...below }, callback);
    if (socket) wires.set(socket, wire);
    return socket;
  }
}

/** Returns the bytes that a socket has received, TLS included. */
export function countWireBytes(socket: Socket): number {
  return (wires.get(socket) ?? socket).bytesRead;
}
