/** The cost of changes without webhooks, with webhooks that do not subscribe, and with one that does. */
import { randomUUID } from 'node:crypto';
import type postgres from 'postgres';
import { openClient } from '../../../../src/database/connection/open-client.ts';
import { digestOf, generateApiKey } from '../../../../src/domain/applications/api-key.ts';
import { findCall } from '../calls.ts';
import type { Fixtures } from '../fixtures.ts';
import { measureCall, quantile } from '../measure-load.ts';
import { measureRounds } from '../measure-rounds.ts';
import { grpc } from '../protocols.ts';
import { layOutTable } from '../report/lay-out-table.ts';
import type { Progress } from '../run-bench.ts';
import { USHER } from '../servers.ts';
import { prepareDatabase } from '../set-up.ts';
import { startServer } from '../start-server.ts';
import { medianOf, ratiosOf } from '../statistics.ts';

/** The webhooks of an application: whether it has any, what the first subscribes to, and the largest cost. */
const VARIANTS = [
  { name: 'none', hasWebhooks: false, eventTypes: '{}', limit: 1 },
  { name: 'no subscriber', hasWebhooks: true, eventTypes: '{}', limit: 1.03 },
  { name: 'one subscriber', hasWebhooks: true, eventTypes: '{*}', limit: 1.25 },
];
const CALLS = ['CheckIn', 'DeleteEvent', 'ExchangeToken first'];
/** So few that the variants of a round see the same machine. */
const REQUESTS = 200;
const CONCURRENCY = 4;

/** Prints a table. Returns whether every call meets the limits. */
export async function measureRequestPath(progress: Progress, rounds: number): Promise<boolean> {
  await using stack = new AsyncDisposableStack();
  const scene = await startVariants(stack, progress, (rounds + 1) * REQUESTS);
  const subjects = CALLS.flatMap((name) => scene.fixtures.map((fixtures) => ({ name, fixtures })));
  const costs = await measureRounds(subjects, { rounds, progress }, async ({ name, fixtures }, round) => {
    const settings = { concurrency: CONCURRENCY, apiKey: fixtures.apiKey, round, count: REQUESTS };
    const { cpuMicros, postgresMicros } = await measureCall(scene, grpc, findCall(fixtures, name), settings);
    return cpuMicros + postgresMicros;
  });

  const told = await scene.sql`select distinct application_id as id from webhook_messages`;
  const subscriber = scene.fixtures.at(-1)?.application.id;
  if (told.length !== 1 || told[0]?.id !== subscriber) throw new Error('Not exactly the subscriber has messages');

  const costsOf = (name: string, index: number) => costs[VARIANTS.length * CALLS.indexOf(name) + index] ?? [];
  const ratiosToFirst = (name: string, index: number) => ratiosOf(costsOf(name, index), costsOf(name, 0));
  const describe = (ratios: readonly number[]) => `${medianOf(ratios).toFixed(2)}x ±${errorOf(ratios).toFixed(2)}`;
  const rows = CALLS.map((name) => [
    name,
    ...VARIANTS.flatMap((_, index) => [
      medianOf(costsOf(name, index)).toFixed(0),
      index === 0 ? '' : describe(ratiosToFirst(name, index)),
    ]),
  ]);
  const header = ['CPU us of Usher and Postgres', ...VARIANTS.flatMap(({ name }) => [name, ''])];
  process.stdout.write(layOutTable(header, rows));
  return CALLS.every((name) => VARIANTS.every(({ limit }, index) => medianOf(ratiosToFirst(name, index)) <= limit));
}

/** Returns how far the true median may be off, with a confidence of 95 % (McGill, Tukey and Larsen, 1978). */
function errorOf(values: readonly number[]): number {
  const ascending = Float64Array.from(values).sort();
  return (1.57 * (quantile(ascending, 0.75) - quantile(ascending, 0.25))) / Math.sqrt(values.length);
}

/**
 * One process serves the applications of all variants from one database: processes differ by more than what is measured,
 * since each compiles its code by what it happens to see. It delivers nothing, since the request path alone is measured.
 */
async function startVariants(stack: AsyncDisposableStack, progress: Progress, fresh: number) {
  const { fixtures, environment, directory } = await prepareDatabase(stack, fresh, progress);
  const sql = openClient(environment.DATABASE_URL ?? '', { max: 1 });
  stack.defer(() => sql.end());
  const copies: Fixtures[] = [];
  for (const variant of VARIANTS) copies.push(await copyApplication(sql, fixtures, variant));
  await sql`vacuum analyze`;
  const settings = { ...environment, WEBHOOK_DELIVERY: 'false' };
  return { sql, server: await startServer(stack, USHER, { environment: settings, directory }), fixtures: copies };
}

/** Copies the application of the benchmark with its events, and the webhooks of the variant. */
async function copyApplication(
  sql: postgres.Sql,
  fixtures: Fixtures,
  { hasWebhooks, eventTypes }: (typeof VARIANTS)[number],
): Promise<Fixtures> {
  const [id, clientId, apiKey] = [randomUUID(), `client_${randomUUID().replaceAll('-', '')}`, generateApiKey()];
  const { id: original } = fixtures.application;
  await sql`
    insert into applications (id, name, client_id, redirect_uris, created_at)
    select ${id}, name, ${clientId}, redirect_uris, created_at from applications where id = ${original}`;
  await sql`
    insert into api_keys (application_id, id, digest, created_at)
    values (${id}, ${id}, ${Buffer.from(digestOf(apiKey), 'hex')}, now())`;
  await sql`
    insert into events (application_id, id, created_at)
    select ${id}, id, created_at from events where application_id = ${original}`;
  await sql`
    insert into webhooks (application_id, id, url, signing_key, owner_id, created_at, updated_at, event_types)
    select ${id}, id, url, signing_key, owner_id, created_at, updated_at,
      case when id = min(id) over () then ${eventTypes}::text::text[] else '{}' end
    from webhooks where application_id = ${original} and ${hasWebhooks}::boolean`;
  return { ...fixtures, apiKey, application: { ...fixtures.application, id, clientId } };
}
