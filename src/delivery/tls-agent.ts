/** An agent for HTTPS that knows how many bytes each TCP connection below TLS has received. */
import type { ClientRequestArgs } from 'node:http';
import { Agent, type AgentOptions } from 'node:https';
import { connect, type NetConnectOpts, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The TCP socket of each TLS socket. */
const wires = new WeakMap<object, Socket>();

class TlsAgent extends Agent {
  override createConnection(options: ClientRequestArgs, callback?: (error: Error | null, stream: Duplex) => void) {
    // Node has merged the options of the socket into those of the request.
    const wire = connect(options as NetConnectOpts);
    const below: object = { socket: wire };
    const socket = super.createConnection({ ...options, ...below }, callback);
    if (socket) wires.set(socket, wire);
    return socket;
  }
}

/** Through a proxy, only the bytes within TLS are counted: the agent of Node opens the connection to the proxy. */
export function createTlsAgent(options: AgentOptions): Agent {
  return options.proxyEnv ? new Agent(options) : new TlsAgent(options);
}

/** Returns the bytes that a socket has received, TLS included. */
export function countWireBytes(socket: Socket): number {
  return (wires.get(socket) ?? socket).bytesRead;
}
