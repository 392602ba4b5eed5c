/** Connections over TLS whose bytes can be counted below it. */
import type { ClientRequestArgs } from 'node:http';
import { Agent, type AgentOptions } from 'node:https';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The TCP sockets below those of TLS. */
const wires = new WeakMap<object, Socket>();

class TlsAgent extends Agent {
  override createConnection(options: ClientRequestArgs, callback?: (error: Error | null, stream: Duplex) => void) {
    // The options of a request are those of its socket, too.
    const wire = connect(options as NetConnectOpts);
    const below: object = { socket: wire };
    const socket = super.createConnection({ ...options, ...below }, callback);
    if (socket) wires.set(socket, wire);
    return socket;
  }
}

/** Creates an agent. Through a proxy it counts the bytes within TLS only. */
export function createTlsAgent(options: AgentOptions): Agent {
  return options.proxyEnv ? new Agent(options) : new TlsAgent(options);
}

/** Returns the bytes that a socket has received, those of TLS included. */
export function countWireBytes(socket: Socket): number {
  return (wires.get(socket) ?? socket).bytesRead;
}
