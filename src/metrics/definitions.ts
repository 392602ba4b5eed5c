/**
 * All metrics, with their names, labels and help, and functions that read their values. A test compares them with
 * `README.md`, `dashboard.json` and `alerts.yaml`.
 */

import { getHeapStatistics } from 'node:v8';
import { VERSION } from '../config/version.ts';
import type { Database } from '../database/pool/database.ts';
import type { Backlog } from '../delivery/backlog.ts';
import type { Recorder } from './recorder.ts';
import type { DurationSeries, LabelValues } from './series.ts';
import type { Sources } from './sources.ts';

interface Sample {
  readonly value: number;
  readonly labels: LabelValues;
}

interface Definition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

export interface SampledMetric extends Definition {
  readonly type: 'counter' | 'gauge';
  read(sources: Sources): Iterable<Sample> | Promise<Iterable<Sample>>;
}

export interface DurationMetric extends Definition {
  readonly type: 'histogram';
  read(recorder: Recorder): DurationSeries;
}

type Read = SampledMetric['read'];

/** Defines a metric whose value may fall. */
function gauge(name: string, help: string, labels: readonly string[], read: Read): SampledMetric {
  return { name, type: 'gauge', help, labels, read };
}

/** Defines a metric whose value only grows. */
function counter(name: string, help: string, labels: readonly string[], read: Read): SampledMetric {
  return { name, type: 'counter', help, labels, read };
}

/** Returns the only sample of a metric without labels. */
function single(value: number): Sample[] {
  return [{ labels: [], value }];
}

/** Returns a sample for each entry, with the key as its label. */
function each<Value>(values: Readonly<Record<string, Value>>, read: (value: Value) => number): Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: [name], value: read(value) }));
}

function statementsOf([client, database]: [string, Pick<Database, 'load'> | undefined]): Sample[] {
  return Object.entries(database?.load.pools ?? {}).flatMap(([pool, { inFlight, waiting }]) => [
    { labels: [client, pool, 'in_flight'], value: inFlight },
    { labels: [client, pool, 'waiting'], value: waiting },
  ]);
}

/** Returns, in seconds, how long the oldest deliveries have been due. Returns no samples if Postgres did not answer. */
function latenessOf(backlog: Backlog | undefined, now: Date): Sample[] {
  if (!backlog) return [];
  const dueAt = { healthy: backlog.healthyDueAt, failing: backlog.failingDueAt };
  return each(dueAt, (instant) => (instant ? Math.max(0, (now.getTime() - instant.getTime()) / 1_000) : 0));
}

export const DURATIONS: readonly DurationMetric[] = [
  {
    name: 'rpc_server_call_duration_seconds',
    type: 'histogram',
    help: 'Duration of calls over any protocol, including REST.',
    labels: ['rpc_method', 'rpc_system_name', 'rpc_response_status_code', 'usher_protocol'],
    read: ({ rpcCalls }) => rpcCalls,
  },
  {
    name: 'http_server_request_duration_seconds',
    type: 'histogram',
    help: 'Duration of requests of REST and of the login page.',
    labels: ['http_request_method', 'http_route', 'http_response_status_code'],
    read: ({ httpRequests }) => httpRequests,
  },
  {
    name: 'db_client_operation_duration_seconds',
    type: 'histogram',
    help: 'Duration of statements, including the wait for a connection.',
    labels: ['db_system_name', 'db_query_summary', 'error_type'],
    read: ({ statements }) => statements,
  },
  {
    name: 'nodejs_gc_duration_seconds',
    type: 'histogram',
    help: 'Duration of garbage collections: `minor`, `major`, `incremental` or `weakcb`.',
    labels: ['kind'],
    read: ({ collections }) => collections,
  },
];

export const SAMPLED: readonly SampledMetric[] = [
  gauge('usher_ready', 'Whether Usher can read and write the database.', [], async ({ readiness }) =>
    single(Number(await readiness.read())),
  ),
  gauge('usher_admission_limit', 'How many calls may be in flight.', ['kind'], ({ admissions }) =>
    each(admissions, ({ load }) => load.limit),
  ),
  gauge('usher_admission_calls', 'How many calls are in flight.', ['kind'], ({ admissions }) =>
    each(admissions, ({ load }) => load.inFlight),
  ),
  counter('usher_admission_refusals_total', 'Calls refused beyond the limit.', ['kind'], ({ admissions }) =>
    each(admissions, ({ load }) => load.refused),
  ),
  counter('usher_cache_lookups_total', 'Look-ups in a cache: `hit` or `miss`.', ['cache', 'result'], ({ caches }) =>
    Object.entries(caches).flatMap(([cache, { lookUps }]) => [
      { labels: [cache, 'hit'], value: lookUps.hits },
      { labels: [cache, 'miss'], value: lookUps.misses },
    ]),
  ),
  gauge(
    'usher_database_statements',
    'Statements in flight, and statements that wait for a connection. The pool `transactions` counts transactions.',
    ['client', 'pool', 'state'],
    ({ databases }) => Object.entries(databases).flatMap(statementsOf),
  ),
  counter(
    'usher_database_reconnects_total',
    'Connections to Postgres that were replaced.',
    ['client'],
    ({ databases }) => each(databases, (database) => database?.load.reconnects ?? 0),
  ),
  gauge('usher_http_connections', 'Open connections of clients.', ['protocol'], ({ listener }) =>
    each(listener.connectionCounts, (count) => count),
  ),
  counter(
    'usher_login_steps_total',
    'Requests of the login page. The outcome is `ok` or a reason.',
    ['step', 'outcome'],
    ({ recorder }) => recorder.loginSteps,
  ),
  counter('usher_emails_total', 'E-mails and decoys: `sent` or `failed`.', ['outcome'], ({ mailer }) =>
    each(mailer.outcomes, (count) => count),
  ),
  gauge(
    'usher_mail_ready',
    'Whether the mail server takes e-mails. Absent without a mail server.',
    [],
    ({ mailServer }) => {
      const { greeting, isWell } = mailServer.read();
      return greeting ? single(Number(isWell)) : [];
    },
  ),
  gauge(
    'usher_declared_applications',
    'Applications of `APPLICATIONS_FILE`: `declared`, or `gone` from the file.',
    ['state'],
    async ({ readDeclared }) => each((await readDeclared()) ?? {}, (count: number) => count),
  ),
  counter(
    'usher_webhook_attempts_total',
    'Webhook attempts, by the status of the delivery afterwards: `succeeded`, `failed` or still `pending`.',
    ['outcome'],
    ({ delivery }) => each(delivery.outcomes, (count) => count),
  ),
  gauge('usher_webhook_pending_deliveries', 'Pending deliveries, up to 10,000.', [], async ({ readBacklog }) => {
    const backlog = await readBacklog();
    return backlog ? single(backlog.pending) : [];
  }),
  gauge(
    'usher_webhook_oldest_due_seconds',
    'How long the oldest delivery has been due.',
    ['endpoints'],
    async ({ clock, readBacklog }) => latenessOf(await readBacklog(), clock()),
  ),
  counter(
    'usher_expired_rows_total',
    'Expired rows that were deleted.',
    ['table'],
    ({ recorder }) => recorder.expiredRows,
  ),
  gauge('usher_build_info', 'Always 1.', ['version', 'node_version'], () => [
    { labels: [VERSION, process.versions.node], value: 1 },
  ]),
  gauge(
    'nodejs_eventloop_delay_p99_seconds',
    'The 99th percentile of event loop delay since the last scrape.',
    [],
    ({ recorder }) => single(recorder.eventLoopDelay.percentile(99) / 1e9),
  ),
  gauge(
    'nodejs_eventloop_delay_max_seconds',
    'The longest event loop delay since the last scrape.',
    [],
    ({ recorder }) => single(recorder.eventLoopDelay.max / 1e9),
  ),
  counter('process_cpu_seconds_total', 'CPU time of the process.', [], () => {
    const { user, system } = process.cpuUsage();
    return single((user + system) / 1e6);
  }),
  gauge('process_resident_memory_bytes', 'Resident memory of the process.', [], () =>
    single(process.memoryUsage.rss()),
  ),
  gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', [], () => single(getHeapStatistics().used_heap_size)),
  gauge('nodejs_heap_size_limit_bytes', 'Limit of the JavaScript heap.', [], () =>
    single(getHeapStatistics().heap_size_limit),
  ),
  gauge('nodejs_heap_fullness_ratio', 'Heap in use by its limit.', [], () => {
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    return single(used / limit);
  }),
  gauge('nodejs_external_memory_bytes', 'Memory of buffers outside the heap.', [], () =>
    single(process.memoryUsage().external),
  ),
];

export const METRICS: readonly Definition[] = [...DURATIONS, ...SAMPLED];
