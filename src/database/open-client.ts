import postgres from 'postgres';

type Options = postgres.Options<Record<string, never>>;

/**
 * Opens a postgres.js client. Unlike postgres.js alone, it also understands libpq's URLs of Unix sockets,
 * whose host is a percent-encoded directory: `postgres://usher@%2Frun%2Fpostgresql/usher`.
 */
export function openClient(url: string, options: Options): postgres.Sql {
  const directory = readSocketDirectory(url);
  return postgres(url, directory === undefined ? options : { ...options, host: directory });
}

/** Returns the directory of the Unix socket that the URL names, or undefined when it names a host. */
export function readSocketDirectory(url: string): string | undefined {
  const host = decodeURIComponent(new URL(url).hostname);
  return host.startsWith('/') ? host : undefined;
}
