import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { type DatabaseServer, DEFAULT_SCHEMA, parseDatabaseUrl, type TlsTarget } from '../../config/database-url.ts';
import { type ClientOptions, createClient, type PostgresClient } from '../sql/driver.ts';
import { ConnectionFailedError } from '../sql/errors.ts';
import { mendResults } from '../sql/mend-results.ts';

export type { DatabaseServer };

type Options = ClientOptions;

/** The servers of a database, and how to connect to them. */
export interface ClientTarget {
  /** One of them is the primary. */
  readonly servers: readonly DatabaseServer[];
  /** Whether the URL declares a pooler. If not, each connection detects it. */
  readonly isPooled: boolean;
  /** The Postgres schema of the tables. */
  readonly schema: string;
  readonly options: Options;
}

/** How Postgres writes instants, whatever a role or database has set. Poolers know these two startup parameters. */
const INSTANTS = { TimeZone: 'UTC', DateStyle: 'ISO' };

/** Opens a postgres.js client for the first server of the URL. */
export function openClient(url: string, options: Options): PostgresClient {
  return openClientOf(readTarget(url), options);
}

/**
 * Opens a postgres.js client for one of the servers, the first by default. postgres.js gets no URL: URL parameters
 * would override options, and postgres.js understands fewer URLs than libpq.
 */
export function openClientOf(target: ClientTarget, options: Options, server = target.servers[0]): PostgresClient {
  if (!server) throw new Error('There is no server to connect to');
  const path = socketOf(server);
  const { ssl } = target.options;
  // Arrays, because postgres.js would split an IPv6 address at its colons. Its types do not allow arrays.
  const address: object = { host: [server.host], port: [server.port], ...(path && { path, ssl: false }) };
  // Each client has its own object, because `verifyHost` changes it.
  const own = typeof ssl === 'object' ? { ssl: { ...ssl } } : {};
  const connection = { ...INSTANTS, ...options.connection };
  const client = createClient({ max_lifetime: null, ...target.options, ...own, ...address, ...options, connection });
  mendResults(client);
  verifyHost(client, server);
  return client;
}

/**
 * Sets the host that the certificate must name. For an IP address postgres.js sets none, and Node would verify
 * `localhost`.
 */
export function verifyHost({ options: { ssl } }: PostgresClient, { host }: DatabaseServer): void {
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

/** Returns the address of the server for messages: its socket path, or host and port. */
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

/** How long a host may take to accept a connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Returns a socket that is connecting. Pass it to `awaitConnected`, which waits until it is connected. */
export function startSocket(server: DatabaseServer): Socket {
  const path = socketOf(server);
  const socket = path ? connect(path) : connect(server);
  // postgres.js reads the server name for TLS from the socket.
  return Object.assign(socket, server);
}

/** @throws ConnectionFailedError after a timeout, or the error of Node, such as ECONNREFUSED */
export async function awaitConnected(socket: Socket): Promise<Socket> {
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return socket;
  } catch (error) {
    socket.destroy();
    const isLate = error instanceof Error && error.name === 'AbortError';
    throw isLate ? new ConnectionFailedError('No connection in time') : error;
  }
}

/**
 * Opens a client that never reconnects: once its connection is lost, every statement fails. By default postgres.js
 * reconnects, and would run and commit the rest of a transaction without its beginning. `begin` of postgres.js prevents
 * that, too, but ends the process when the connection is lost (porsager/postgres#1066, #1208).
 */
export function openSingleConnection(
  target: ClientTarget,
  options: Parameters<typeof openClientOf>[1],
  server: DatabaseServer,
): PostgresClient {
  let isOpened = false;
  const openSocket = () => {
    if (isOpened) {
      // Otherwise later statements would wait for ever.
      client.end({ timeout: 0 }).catch(() => {});
      throw new ConnectionFailedError('The connection was lost');
    }
    isOpened = true;
    return awaitConnected(startSocket(server));
  };
  // A variable, because the types of postgres.js lack `socket`.
  const single = { ...options, max: 1, socket: openSocket };
  const client = openClientOf(target, single, server);
  return client;
}
