/** Who is compared, and over which protocols. */
import type { Options } from './options.ts';
import { connectBinary, connectJson } from './protocols/connect.ts';
import { grpc } from './protocols/grpc.ts';
import type { Protocol } from './protocols/protocol.ts';
import { rest } from './protocols/rest.ts';

export type ServerName = 'floor' | 'fastify-drizzle' | 'fastify-pg' | 'grpc-js' | 'connect-node' | 'usher';

export interface ServerSpec {
  readonly name: ServerName;
  /** What it is, for a reader. */
  readonly title: string;
  /** Its entry point. */
  readonly file: URL;
}

/** A server over one of its protocols. */
export interface Row {
  readonly server: ServerSpec;
  readonly protocol: Protocol;
}

export const USHER: ServerSpec = {
  name: 'usher',
  title: 'Usher',
  file: new URL('../../src/main.ts', import.meta.url),
};

const LINEUP: readonly (ServerSpec & { readonly protocols: readonly Protocol[] })[] = [
  baseline('floor', 'node:http by hand', [rest]),
  baseline('fastify-drizzle', 'Fastify, Drizzle', [rest]),
  baseline('fastify-pg', 'Fastify, pg', [rest]),
  baseline('grpc-js', '@grpc/grpc-js', [grpc]),
  baseline('connect-node', 'connect-node', [connectJson, connectBinary, grpc]),
  { ...USHER, protocols: [rest, connectJson, connectBinary, grpc] },
];

/** Throws where nobody is left. */
export function chooseRows({ isInvited }: Options): Row[] {
  const rows = LINEUP.flatMap((server) =>
    server.protocols
      .filter((protocol) => isInvited(server.name, protocol.name))
      .map((protocol) => ({ server, protocol })),
  );
  if (rows.length === 0) throw new Error(`No server of that name and protocol: ${LINEUP.map(({ name }) => name)}`);
  return rows;
}

/** Usher documents no REST route for check-ins. */
export function isServed({ server, protocol }: Row, call: string): boolean {
  return !(server.name === 'usher' && protocol === rest && call === 'CheckIn');
}

function baseline(name: ServerName, title: string, protocols: readonly Protocol[]) {
  return { name, title, file: new URL(`baselines/serve-${name}.ts`, import.meta.url), protocols };
}
