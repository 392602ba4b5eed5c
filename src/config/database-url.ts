/** The connection URLs of libpq that Usher supports: https://www.postgresql.org/docs/current/libpq-connect.html */

/** A parsed URL. For undefined fields the defaults of postgres.js apply. */
export interface DatabaseTarget {
  /** Candidates for the primary. */
  readonly servers: readonly DatabaseServer[];
  readonly database: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly tls: TlsTarget | undefined;
  /** Whether the URL declares the server a pooler, with `pgbouncer=true`. */
  readonly isPooled: boolean;
}

export interface DatabaseServer {
  /** A name, an address, or the directory of a Unix socket, which begins with `/`. */
  readonly host: string;
  readonly port: number;
}

export interface TlsTarget {
  readonly mode: 'prefer' | 'require' | 'verify-ca' | 'verify-full';
  readonly isDirect: boolean;
  /** Paths of PEM files. Without a root certificate, Node's own root certificates apply. */
  readonly rootCertificate: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

const DEFAULT_PORT = 5432;
const DEFAULT_SOCKET_DIRECTORY = '/var/run/postgresql';
export const DEFAULT_SCHEMA = 'usher';

const FORM = /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;

/** The supported parameters and their values. Usher sets others itself, such as `application_name`. */
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  host: /^/,
  port: /^/,
  dbname: /^/,
  user: /^/,
  password: /^/,
  ssl: /^(true|false)$/,
  sslmode: /^(disable|allow|prefer|require|verify-ca|verify-full)$/,
  sslnegotiation: /^(postgres|direct)$/,
  sslrootcert: /./,
  sslcert: /./,
  sslkey: /./,
  channel_binding: /^(disable|prefer|require)$/,
  pgbouncer: /^(true|false)$/,
  // No effect: Usher always looks for the primary.
  target_session_attrs: /^(read-write|primary|any)$/,
  // No effect, but common in URLs for libpq.
  gssencmode: /^(disable|prefer)$/,
  connect_timeout: /^/,
  tcp_user_timeout: /^/,
  keepalives: /^/,
  keepalives_idle: /^/,
  keepalives_interval: /^/,
  keepalives_count: /^/,
};

/** @throws Error whose message continues the name of the setting, and does not contain the password */
export function parseDatabaseUrl(text: string): DatabaseTarget {
  const [matched, userInfo = '', hosts = '', database = '', query = ''] = FORM.exec(text) ?? [];
  if (matched === undefined) throw invalid();
  const parameters = readParameters(query);
  const [user = '', password = ''] = splitOnce(userInfo, ':').map(decode);
  return {
    servers: parameters.host === undefined ? parseHosts(hosts, parameters.port) : parseHostParameters(parameters),
    database: parameters.dbname || decode(database) || undefined,
    user: parameters.user || user || undefined,
    password: parameters.password || password || undefined,
    tls: parseTls(parameters),
    isPooled: parameters.pgbouncer === 'true',
  };
}

type Parameters = Readonly<Partial<Record<keyof typeof PARAMETERS, string>>>;

function readParameters(query: string): Parameters {
  const entries = query === '' ? [] : query.split('&').map((pair) => splitOnce(pair, '=').map(decode));
  const unknown = entries.flatMap(([name = '']) => (Object.hasOwn(PARAMETERS, name) ? [] : name));
  if (unknown.length > 0) throw new Error(`must not have the parameter ${unknown.join(' or ')}`);
  for (const [name = '', value = ''] of entries) {
    if (!PARAMETERS[name]?.test(value))
      throw new Error(`has a parameter ${name} with a value that Usher does not support`);
  }
  return Object.fromEntries(entries);
}

/** Parses `host:port,[address]:port,%2Fdirectory`. `defaultPort` applies to hosts without a port. */
function parseHosts(text: string, defaultPort: string | undefined): DatabaseServer[] {
  return text.split(',').map((entry) => {
    const [, address, name = '', port] = /^(?:\[([0-9a-fA-F:.%]+)\]|([^:[\]]*))(?::(\d*))?$/.exec(entry) ?? [];
    if (entry !== '' && address === undefined && name === '' && !port) throw invalid();
    return toServer(decode(address ?? name), port || defaultPort);
  });
}

function parseHostParameters({ host = '', port = '' }: Parameters): DatabaseServer[] {
  const ports = port.split(',');
  return host.split(',').map((name, index) => toServer(name, ports[index] ?? ports[0]));
}

function toServer(host: string, port: string | undefined): DatabaseServer {
  const server = { host: host || DEFAULT_SOCKET_DIRECTORY, port: Number(port || DEFAULT_PORT) };
  if (!(server.port >= 1 && server.port <= 65_535)) throw invalid();
  if (!server.host.startsWith('/') && /[\s/]/.test(server.host)) throw invalid();
  return server;
}

function parseTls(parameters: Parameters): TlsTarget | undefined {
  const { ssl, sslrootcert, sslnegotiation, channel_binding } = parameters;
  const mode = parameters.sslmode ?? (ssl === 'true' || sslnegotiation === 'direct' ? 'require' : undefined);
  const isSystem = sslrootcert === 'system';
  if (mode === 'disable' || (mode === undefined && !sslrootcert && channel_binding !== 'require')) return undefined;
  return {
    mode: isSystem || channel_binding === 'require' ? 'verify-full' : strictest(mode, sslrootcert),
    isDirect: sslnegotiation === 'direct',
    rootCertificate: isSystem ? undefined : sslrootcert,
    certificate: parameters.sslcert,
    key: parameters.sslkey,
  };
}

/** Like libpq, verifies the certificate with `sslmode=require` if there is a root certificate. */
function strictest(mode: string | undefined, rootCertificate: string | undefined): TlsTarget['mode'] {
  if (mode === 'verify-full' || mode === 'verify-ca') return mode;
  if (mode === 'require') return rootCertificate ? 'verify-ca' : 'require';
  return 'prefer';
}

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid();
  }
}

function invalid(): Error {
  return new Error('must be a postgres:// URL');
}
