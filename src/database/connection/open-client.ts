import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { type DatabaseServer, DEFAULT_SCHEMA, parseDatabaseUrl, type TlsTarget } from '../../config/database-url.ts';
import { type ClientOptions, createClient, type PostgresClient } from '../sql/driver.ts';
import { ConnectionFailedError } from '../sql/errors.ts';

export type { DatabaseServer };

/** How connections are encrypted. */
interface Tls {
  /** Whether to go on without if the server has none. */
  readonly isOptional: boolean;
  /** Whether TLS begins at once, without asking. */
  readonly isDirect: boolean;
  readonly options: ConnectionOptions;
}

/** The servers of a database, and how to connect to them. */
export interface ClientTarget {
  /** One of them is the primary. */
  readonly servers: readonly DatabaseServer[];
  /** Whether the URL declares a pooler. If not, each connection detects it. */
  readonly isPooled: boolean;
  /** The Postgres schema of the tables. */
  readonly schema: string;
  readonly tls: Tls | undefined;
  readonly options: ClientOptions;
}

/** How Postgres writes instants, whatever a role or database has set. Poolers know these two startup parameters. */
const INSTANTS = { TimeZone: 'UTC', DateStyle: 'ISO' };

/** Opens a postgres.js client for the first server of the URL. */
export function openClient(url: string, options: ClientOptions): PostgresClient {
  return openClientOf(readTarget(url), options);
}

/**
 * Opens a postgres.js client for one of the servers, the first by default. postgres.js gets no URL: URL parameters
 * would override options, and postgres.js understands fewer URLs than libpq.
 */
export function openClientOf(target: ClientTarget, options: ClientOptions, server = target.servers[0]): PostgresClient {
  if (!server) throw new Error('There is no server to connect to');
  const path = socketOf(server);
  const { tls } = target;
  // Arrays, because postgres.js would split an IPv6 address at its colons. Its types allow neither arrays nor `socket`.
  const address: object = {
    host: [server.host],
    port: [server.port],
    ...(path && { path }),
    ...(tls && { socket: () => connectSocket(startSocket(server), server, tls) }),
  };
  const connection = { ...INSTANTS, ...options.connection };
  return createClient({ ssl: false, max_lifetime: null, ...target.options, ...address, ...options, connection });
}

/** Parses the URL and reads the files that it names. @throws Error of one line */
export function readTarget(url: string, schema = DEFAULT_SCHEMA): ClientTarget {
  const { servers, database, user, password, tls, isPooled } = parseDatabaseUrl(url);
  const options = {
    ...(database !== undefined && { database }),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
  };
  return { servers, isPooled, schema, options, tls: tls && readTls(tls) };
}

/** Returns the path of the Unix socket, or undefined for a host. */
export function socketOf({ host, port }: DatabaseServer): string | undefined {
  return host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : undefined;
}

/** Returns the address of the server for messages: its socket path, or host and port. */
export function describeServer(server: DatabaseServer): string {
  return socketOf(server) ?? `${server.host}:${server.port}`;
}

function readTls({ mode, isDirect, rootCertificate, certificate, key }: TlsTarget): Tls {
  const files = {
    ...(rootCertificate && { ca: readPem('sslrootcert', rootCertificate) }),
    ...(certificate && { cert: readPem('sslcert', certificate) }),
    ...(key && { key: readPem('sslkey', key) }),
  };
  const isVerified = mode === 'verify-ca' || mode === 'verify-full';
  return {
    isOptional: mode === 'prefer' && Object.keys(files).length === 0,
    isDirect,
    options: {
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

/** How long a host may take to accept a connection, and to begin TLS. */
const CONNECT_TIMEOUT_MS = 5_000;

/** How long a connection may be silent until the system asks whether the other side is there. */
const KEEP_ALIVE_MS = 60_000;

/** Asks for TLS: https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Returns a socket that is connecting, for `connectSocket`. */
export function startSocket(server: DatabaseServer): Socket {
  const path = socketOf(server);
  const socket = path ? connect(path) : connect(server);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  // postgres.js names the server by it in its errors.
  return Object.assign(socket, server);
}

/**
 * Waits until the socket is connected, and encrypts it. postgres.js would hide the encrypted socket, and name no IP
 * address to certificates.
 *
 * @throws ConnectionFailedError after a timeout, or the error of Node, such as ECONNREFUSED
 */
export async function connectSocket(socket: Socket, server: DatabaseServer, tls: Tls | undefined): Promise<Socket> {
  const late = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  const closed = new AbortController();
  socket.once('close', () => closed.abort());
  const signal = AbortSignal.any([late, closed.signal]);
  try {
    await once(socket, 'connect', { signal });
    if (!tls || socketOf(server) || !(await acceptsTls(socket, tls, signal))) return socket;
    const { host } = server;
    // The encrypted socket has the same errors.
    socket.on('error', () => {});
    const encrypted = connectTls({
      ...tls.options,
      socket,
      host,
      ...(!isIP(host) && { servername: host }),
      ...(tls.isDirect && { ALPNProtocols: ['postgresql'] }),
    });
    await once(encrypted, 'secureConnect', { signal });
    return Object.assign(encrypted, server);
  } catch (error) {
    socket.destroy();
    if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
    throw new ConnectionFailedError(late.aborted ? 'No connection in time' : 'The connection was lost');
  }
}

async function acceptsTls(socket: Socket, { isDirect, isOptional }: Tls, signal: AbortSignal): Promise<boolean> {
  if (isDirect) return true;
  socket.write(SSL_REQUEST);
  const [answer] = await once(socket, 'data', { signal });
  // Anything after this byte would not be encrypted.
  if (String(answer) === 'S') return true;
  if (String(answer) === 'N' && isOptional) return false;
  throw new Error('The server does not encrypt connections');
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
    return connectSocket(startSocket(server), server, target.tls);
  };
  // A variable, because the types of postgres.js lack `socket`.
  const single = { ...options, max: 1, socket: openSocket };
  const client = openClientOf(target, single, server);
  return client;
}
