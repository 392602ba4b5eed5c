import { parseDatabaseUrl } from '../../config/database-url.ts';
import { openSingleConnection, readTarget } from './open-client.ts';
import { describeFailure } from './start-failure.ts';

/** Per server. */
const TIMEOUT_MS = 2_000;
/** So long all who ask share an answer: anybody who reaches the console may ask. */
const VALID_MS = 1_000;

/** Returns servers and name of the database, without user and password. */
export function nameDatabase(url: string): string {
  const { servers, database = '' } = parseDatabaseUrl(url);
  return `${servers.map(({ host, port }) => `${host}:${String(port)}`).join(',')}/${database}`;
}

/** Returns a function that connects to each server once more, and resolves to why those that fail do not answer. */
export function createOutageFinder(url: string): () => Promise<readonly string[]> {
  let shared: Promise<readonly string[]> | undefined;
  return () => {
    shared ??= findOutages(url).finally(() => {
      setTimeout(() => {
        shared = undefined;
      }, VALID_MS).unref();
    });
    return shared;
  };
}

async function findOutages(url: string): Promise<readonly string[]> {
  const target = readTarget(url);
  const reasons = await Promise.all(
    target.servers.map(async (server) => {
      const client = openSingleConnection(target, { connect_timeout: TIMEOUT_MS / 1_000 }, server);
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(
        () => late.reject(new Error(`no answer within ${String(TIMEOUT_MS / 1_000)} s`)),
        TIMEOUT_MS,
      );
      try {
        await Promise.race([client`select 1`, late.promise]);
        return [];
      } catch (error) {
        return [`${server.host}:${String(server.port)}: ${describeFailure(error)}`];
      } finally {
        clearTimeout(timer);
        client.end({ timeout: 0 }).catch(() => {});
      }
    }),
  );
  return reasons.flat();
}
