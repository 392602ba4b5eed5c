/** Which servers are compared, and over which protocols. */
import type { Options } from './options.ts';
import { connectBinary, connectJson, grpc, type Protocol, rest } from './protocols.ts';

export type ServerName = 'node-http' | 'fastify-pg' | 'node-http2' | 'grpc-js' | 'connect-node' | 'usher';

export interface ServerSpec {
  readonly name: ServerName;
  readonly title: string;
  /** Its entry point. */
  readonly file: URL;
  /** How many ports it listens on: one for all protocols, or one for HTTP/1.1 and then one for HTTP/2. */
  readonly listeners: 1 | 2;
}

/** A row of the tables: a server over one of its protocols. */
export interface Row {
  readonly server: ServerSpec;
  readonly protocol: Protocol;
}

export const USHER: ServerSpec = {
  name: 'usher',
  title: 'Usher',
  file: new URL('../../src/start.js', import.meta.url),
  listeners: 1,
};

const SERVERS: readonly (ServerSpec & { readonly protocols: readonly Protocol[] })[] = [
  baseline('node-http', 'node:http by hand', [rest]),
  baseline('fastify-pg', 'Fastify, pg', [rest]),
  baseline('node-http2', 'node:http2 by hand', [grpc]),
  baseline('grpc-js', '@grpc/grpc-js', [grpc]),
  { ...baseline('connect-node', 'connect-node', [connectJson, connectBinary, grpc]), listeners: 2 },
  { ...USHER, protocols: [rest, connectJson, connectBinary, grpc] },
];

/** Returns the rows to measure. @throws Error if the options leave none */
export function selectRows({ isSelectedRow }: Options): Row[] {
  const rows = SERVERS.flatMap((server) =>
    server.protocols
      .filter((protocol) => isSelectedRow(server.name, protocol.name))
      .map((protocol) => ({ server, protocol })),
  );
  if (rows.length === 0) throw new Error(`No such server and protocol. Servers: ${SERVERS.map(({ name }) => name)}`);
  return rows;
}

/** Returns whether the server has the call: the baselines have no cache of sessions to compare. */
export function isServed({ server }: Row, call: string): boolean {
  return call !== 'CheckSession' || server.name === 'usher';
}

function baseline(name: ServerName, title: string, protocols: readonly Protocol[]) {
  return {
    name,
    title,
    file: new URL(`baselines/serve-${name}.ts`, import.meta.url),
    protocols,
    listeners: 1 as const,
  };
}
