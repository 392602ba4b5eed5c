import { openClient } from '../database/connection/open-client.ts';
import type { PostgresClient } from '../database/sql/driver.ts';

/** Runs statements on a connection of its own. */
export async function onServer<Result>(
  url: string,
  run: (sql: PostgresClient) => Promise<Result>,
  options: Parameters<typeof openClient>[1] = {},
): Promise<Result> {
  const sql = openClient(url, { max: 1, onnotice: () => {}, ...options });
  try {
    return await run(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Returns the URL of another database of the server. */
export function withDatabase(url: string, database: string): string {
  return Object.assign(new URL(url), { pathname: database }).href;
}
