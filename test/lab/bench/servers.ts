/** Which servers are compared, and over which protocols. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { UsageError } from './command-line.ts';
import type { Options } from './options.ts';
import { connectBinary, connectJson, grpc, type Protocol, rest } from './protocols.ts';

type Rival =
  | 'least'
  | 'node-http'
  | 'fastify-pg'
  | 'node-http2'
  | 'grpc-js'
  | 'connect-node'
  | 'oidc-provider'
  | 'better-auth';
export type ServerName = Rival | 'against' | 'usher';

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
  file: new URL('../../../src/start.js', import.meta.url),
  listeners: 1,
};

/** It speaks OpenID Connect alone: see `openid`. */
export const OIDC_PROVIDER: ServerSpec = baseline('oidc-provider', 'oidc-provider', []);

/** It signs users in by code alone: see `logins`. */
export const BETTER_AUTH: ServerSpec = baseline('better-auth', 'better-auth', []);

type Compared = ServerSpec & { readonly protocols: readonly Protocol[] };

const USHER_PROTOCOLS = [rest, connectJson, connectBinary, grpc];

const SERVERS: readonly Compared[] = [
  baseline('least', 'the least', [rest]),
  baseline('node-http', 'node:http by hand', [rest]),
  baseline('fastify-pg', 'Fastify, pg', [rest]),
  baseline('node-http2', 'node:http2 by hand', [grpc]),
  baseline('grpc-js', '@grpc/grpc-js', [grpc]),
  { ...baseline('connect-node', 'connect-node', [connectJson, connectBinary, grpc]), listeners: 2 },
  { ...USHER, protocols: USHER_PROTOCOLS },
];

/** All that `--server` can select. */
export const SERVER_NAMES: readonly ServerName[] = [...SERVERS.map(({ name }) => name), 'against'];

/** Returns the rows to measure. @throws UsageError if the options leave none */
export function selectRows({ isSelectedRow, against }: Options): Row[] {
  const servers = [...SERVERS, ...(against === undefined ? [] : [usherIn(against)])];
  const rows = servers.flatMap((server) =>
    server.protocols
      .filter((protocol) => isSelectedRow(server.name, protocol.name))
      .map((protocol) => ({ server, protocol })),
  );
  if (rows.length > 0) return rows;
  const offers = servers.map(({ name, protocols }) => `${name} (${protocols.map((each) => each.name).join(', ')})`);
  throw new UsageError(`No selected server has a selected protocol: ${offers.join(', ')}`);
}

/** Returns whether the server has the call: the baselines have no cache of sessions to compare, and the least no tokens. */
export function isServed({ server }: Row, call: string): boolean {
  if (server.name === 'least' && call.startsWith('ExchangeToken')) return false;
  return call !== 'CheckSession' || server.name === 'usher' || server.name === 'against';
}

/** Its version must run on the tables of this one. */
export function usherIn(directory: string): Compared {
  const file = pathToFileURL(resolve(directory, 'src/start.js'));
  return { ...USHER, name: 'against', title: `Usher in ${directory}`, file, protocols: USHER_PROTOCOLS };
}

function baseline(name: Rival, title: string, protocols: readonly Protocol[]) {
  return {
    name,
    title,
    file: new URL(`baselines/serve-${name}.ts`, import.meta.url),
    protocols,
    listeners: 1 as const,
  };
}
