import { readFileSync } from 'node:fs';
import postgres from 'postgres';
import { type DatabaseServer, DEFAULT_SCHEMA, parseDatabaseUrl, type TlsTarget } from '../config/database-url.ts';
import { mendResults } from './mend-results.ts';

export type { DatabaseServer };

type Options = postgres.Options<Record<string, never>>;

/** What to connect to, and how. */
export interface ClientTarget {
  /** One of them is the primary. */
  readonly servers: readonly DatabaseServer[];
  /** Whether there is a pooler between. If not, that is found out. */
  readonly isPooled: boolean;
  /** Where the tables are. */
  readonly schema: string;
  readonly options: Options;
}

/** Opens a postgres.js client for the first server of the URL. */
export function openClient(url: string, options: Options): postgres.Sql {
  return openClientOf(readTarget(url), options);
}

/**
 * Opens a postgres.js client for one of the servers, the first by default. It gets no URL: parameters of a URL would
 * override options, and postgres.js understands fewer URLs than libpq.
 */
export function openClientOf(target: ClientTarget, options: Options, server = target.servers[0]): postgres.Sql {
  if (!server) throw new Error('There is no server to connect to');
  const path = socketOf(server);
  const { ssl } = target.options;
  // Lists, which the types of postgres.js do not know: it would split an IPv6 address at its colons.
  const address: object = { host: [server.host], port: [server.port], ...(path && { path, ssl: false }) };
  // An object for each client, because of `verifyHost`.
  const own = typeof ssl === 'object' ? { ssl: { ...ssl } } : {};
  const client = postgres({ max_lifetime: null, ...target.options, ...own, ...address, ...options });
  mendResults(client);
  verifyHost(client, server);
  return client;
}

/** Sets the host that the certificate must be for. For an address postgres.js sets none, and Node takes `localhost`. */
export function verifyHost({ options: { ssl } }: postgres.Sql, { host }: DatabaseServer): void {
  if (typeof ssl === 'object') Object.assign(ssl, { host });
}

/** Parses the URL and reads the files that it names. @throws Error of one line */
export function readTarget(url: string, schema = DEFAULT_SCHEMA): ClientTarget {
  const { servers, database, user, password, tls, isPooled } = parseDatabaseUrl(url);
  const options = {
    ...(database !== undefined && { database }),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ...toTlsOptions(tls),
  };
  return { servers, isPooled, schema, options };
}

/** Returns the path of the Unix socket, or undefined for a host. */
export function socketOf({ host, port }: DatabaseServer): string | undefined {
  return host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : undefined;
}

/** Names the server as an operator would. */
export function describeServer(server: DatabaseServer): string {
  return socketOf(server) ?? `${server.host}:${server.port}`;
}

function toTlsOptions(tls: TlsTarget | undefined): Options & { sslnegotiation?: string } {
  if (!tls) return { ssl: false };
  const { mode, isDirect, rootCertificate, certificate, key } = tls;
  const files = {
    ...(rootCertificate && { ca: readPem('sslrootcert', rootCertificate) }),
    ...(certificate && { cert: readPem('sslcert', certificate) }),
    ...(key && { key: readPem('sslkey', key) }),
  };
  const isVerified = mode === 'verify-ca' || mode === 'verify-full';
  return {
    ...(isDirect && { sslnegotiation: 'direct' }),
    ssl:
      mode === 'prefer' && Object.keys(files).length === 0
        ? 'prefer'
        : {
            ...files,
            rejectUnauthorized: isVerified,
            ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
          },
  };
}

function readPem(parameter: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    throw new Error(`DATABASE_URL names a file in ${parameter} that cannot be read${code}`);
  }
}
