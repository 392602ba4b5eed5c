/** Asks a console for its pages, and Postgres what each has cost. */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openClient } from '../../../../src/database/connection/open-client.ts';
import { startEmbeddedPostgres } from '../../../../src/database/embedded/embedded-postgres.ts';
import { migrateDatabase } from '../../../../src/database/migrate/migrate.ts';
import { createLogger } from '../../../../src/log.ts';
import { deriveConsoleKeys } from '../../../../src/modules/console/keys.ts';
import { createSignInLink } from '../../../../src/modules/console/sign-in-link.ts';
import { readFullConfig } from '../../../../src/modules/modules.ts';
import { startServer } from '../../../../src/server.ts';
import { onServer } from '../../../../src/testing/on-server.ts';
import { findFreePort } from '../../../support/free-port.ts';
import { createFixtures, type Fixtures } from '../fixtures.ts';
import { makeDirectory, writeEnvironment } from '../set-up.ts';
import { type Counts, fillTables } from './fill-tables.ts';
import { listPages, type MeasuredPage } from './pages.ts';

const OPERATOR = 'operator@example.com';
/** The least of so many counts: jobs run beside. */
const REQUESTS = 3;

export interface PageCost {
  readonly name: string;
  readonly status: number;
  /** Pages of memory that Postgres has read, as often as it has. */
  readonly buffers: number;
}

/**
 * Fills a database, starts Usher on it, and measures each page and the next one after it: once, if it has read no more
 * than `enough`.
 */
export async function measureConsole(stack: AsyncDisposableStack, counts: Counts, enough: number): Promise<PageCost[]> {
  const directory = await makeDirectory(stack);
  const fixtures = createFixtures();
  const databaseUrl = await prepareDatabase(stack, directory, fixtures, counts);
  return measurePages(stack, directory, databaseUrl, fixtures, enough);
}

async function prepareDatabase(stack: AsyncDisposableStack, directory: string, fixtures: Fixtures, counts: Counts) {
  const filled = await startEmbeddedPostgres(directory, { durable: false });
  stack.defer(() => filled.close());
  await migrateDatabase(filled.url);
  await fillTables(filled.url, fixtures, counts);
  await onServer(filled.url, async (sql) => {
    await sql`create extension pg_stat_statements`;
    await sql`alter system set shared_preload_libraries = 'pg_stat_statements'`;
    await sql`alter system set shared_buffers = '1GB'`;
  });
  await filled.close();
  const restarted = await startEmbeddedPostgres(directory, { durable: false });
  stack.defer(() => restarted.close());
  return restarted.url;
}

async function measurePages(
  stack: AsyncDisposableStack,
  directory: string,
  databaseUrl: string,
  fixtures: Fixtures,
  enough: number,
) {
  const sql = openClient(databaseUrl, { max: 1 });
  stack.defer(() => sql.end());
  const open = await startConsole(stack, directory, databaseUrl, fixtures);

  /** Returns the cost of a page, and the path of the next one. */
  async function measure({ name, path }: MeasuredPage) {
    const costs: PageCost[] = [];
    let next: string | undefined;
    const isEnough = () => costs.some(({ buffers }) => buffers <= enough);
    for (let request = 0; request < REQUESTS && !isEnough(); request++) {
      await sql`select pg_stat_statements_reset()`;
      const { status, text } = await open(path);
      const [read] = await sql`
        select coalesce(sum(shared_blks_hit + shared_blks_read), 0)::int as buffers from pg_stat_statements
        where query not like '%pg_stat_statements%'`;
      costs.push({ name, status, buffers: read?.buffers });
      next = /rel="next" href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    return { cost: costs.reduce((one, other) => (other.buffers < one.buffers ? other : one)), next };
  }

  const figures: PageCost[] = [];
  for (const page of listPages(fixtures)) {
    const { cost, next } = await measure(page);
    figures.push(cost);
    if (next) figures.push((await measure({ name: `${page.name}, older`, path: next })).cost);
  }
  return figures;
}

/** Returns a function that opens a page as an admin. */
async function startConsole(stack: AsyncDisposableStack, directory: string, databaseUrl: string, fixtures: Fixtures) {
  const operators = join(directory, 'operators');
  await writeFile(operators, `${OPERATOR} admin\n`);
  const port = await findFreePort();
  const environment = await writeEnvironment(directory, databaseUrl, fixtures);
  const own = { PORT: '0', CONSOLE_PORT: String(port), OPERATORS_FILE: operators, WEBHOOK_DELIVERY: 'false' };
  const config = readFullConfig({ ...environment, ...own }, (file) => readFileSync(file, 'utf8'));
  const server = await startServer(config, { logger: createLogger('silent') });
  stack.defer(() => server.close());
  const consoleUrl = `http://127.0.0.1:${port}`;
  const link = createSignInLink(deriveConsoleKeys([fixtures.encryptionKey]), consoleUrl, OPERATOR, new Date());
  const signedIn = await fetch(`${consoleUrl}/callback`, {
    method: 'POST',
    body: new URLSearchParams({ link: new URL(link).searchParams.get('link') ?? '' }),
    headers: { 'sec-fetch-site': 'same-origin' },
    redirect: 'manual',
  });
  if (signedIn.headers.get('location') !== '/') throw new Error(`Not signed in: ${signedIn.status}`);
  const cookie = signedIn.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ');
  return async (path: string) => {
    const reply = await fetch(consoleUrl + path, { redirect: 'manual', headers: { cookie } });
    // It would cost nothing, and pass.
    if (reply.headers.get('location')?.startsWith('/login')) throw new Error(`The sign-in is too old for ${path}`);
    return { status: reply.status, text: await reply.text() };
  };
}
