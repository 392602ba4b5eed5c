/**
 * Every metric: its name, labels and help, and where its value is. `README.md`, `dashboard.json` and `alerts.yaml` name
 * them too; a test compares.
 */
import { VERSION } from '../config/version.ts';
import {
  counter,
  type Definition,
  type DurationMetric,
  each,
  gauge,
  latenessOf,
  type SampledMetric,
  single,
  statementsOf,
} from './metric.ts';

export const DURATIONS: readonly DurationMetric[] = [
  {
    name: 'rpc_server_call_duration_seconds',
    type: 'histogram',
    help: 'Duration of the calls of RPCs over any protocol. REST is one of them.',
    labels: ['rpc_method', 'rpc_system_name', 'rpc_response_status_code', 'usher_protocol'],
    read: ({ rpcCalls }) => rpcCalls,
  },
  {
    name: 'http_server_request_duration_seconds',
    type: 'histogram',
    help: 'Duration of the requests of REST and of the login page.',
    labels: ['http_request_method', 'http_route', 'http_response_status_code'],
    read: ({ httpRequests }) => httpRequests,
  },
  {
    name: 'db_client_operation_duration_seconds',
    type: 'histogram',
    help: 'Duration of statements, with their wait for a connection.',
    labels: ['db_system_name', 'db_query_summary', 'error_type'],
    read: ({ statements }) => statements,
  },
];

export const SAMPLED: readonly SampledMetric[] = [
  gauge('usher_ready', 'Whether every process can read and write the database.', [], {
    aggregator: 'min',
    read: async ({ readiness }) => single(Number(await readiness.read())),
  }),
  gauge('usher_admission_limit', 'How many calls may be in flight.', ['kind'], {
    read: ({ admissions }) => each(admissions, ({ load }) => load.limit),
  }),
  gauge('usher_admission_calls', 'How many calls are in flight.', ['kind'], {
    read: ({ admissions }) => each(admissions, ({ load }) => load.inFlight),
  }),
  counter('usher_admission_refusals_total', 'Calls refused beyond the limit.', ['kind'], {
    read: ({ admissions }) => each(admissions, ({ load }) => load.refused),
  }),
  counter('usher_cache_lookups_total', 'Look-ups answered at once (`hit`) or not (`miss`).', ['cache', 'result'], {
    read: ({ caches }) =>
      Object.entries(caches).flatMap(([cache, { lookUps }]) => [
        { labels: [cache, 'hit'], value: lookUps.hits },
        { labels: [cache, 'miss'], value: lookUps.misses },
      ]),
  }),
  gauge(
    'usher_database_statements',
    'Statements that Postgres has not answered, or that wait for a connection.',
    ['client', 'pool', 'state'],
    { read: ({ databases }) => Object.entries(databases).flatMap(statementsOf) },
  ),
  counter('usher_database_reconnects_total', 'Connections to Postgres that were replaced.', ['client'], {
    read: ({ databases }) => each(databases, (database) => database?.load.reconnects ?? 0),
  }),
  gauge('usher_http_connections', 'Open connections of clients.', ['protocol'], {
    read: ({ listener }) => each(listener.connectionCounts, (count) => count),
  }),
  counter(
    'usher_login_steps_total',
    'Requests of the login page. The outcome is `ok` or a reason.',
    ['step', 'outcome'],
    {
      read: ({ recorder }) => recorder.loginSteps,
    },
  ),
  counter('usher_emails_total', 'E-mails with login codes: `sent` or `failed`.', ['outcome'], {
    read: ({ mailer }) => each(mailer.outcomes, (count) => count),
  }),
  counter(
    'usher_webhook_attempts_total',
    'Attempts of webhooks. The delivery is `succeeded`, `failed` for good, or still `pending`.',
    ['outcome'],
    { read: ({ delivery }) => each(delivery.outcomes, (count) => count) },
  ),
  gauge('usher_webhook_pending_deliveries', 'Deliveries that are pending, up to 10,000.', [], {
    aggregator: 'max',
    isShared: true,
    read: async ({ readBacklog }) => {
      const backlog = await readBacklog();
      return backlog ? single(backlog.pending) : [];
    },
  }),
  gauge('usher_webhook_oldest_due_seconds', 'How late the oldest delivery is that is due.', ['endpoints'], {
    aggregator: 'max',
    isShared: true,
    read: async ({ clock, readBacklog }) => latenessOf(await readBacklog(), clock()),
  }),
  counter('usher_expired_rows_total', 'Expired rows that were deleted.', ['table'], {
    read: ({ recorder }) => recorder.expiredRows,
  }),
  gauge('usher_build_info', 'Always 1.', ['version', 'node_version'], {
    aggregator: 'max',
    read: () => [{ labels: [VERSION, process.versions.node], value: 1 }],
  }),
  gauge(
    'nodejs_eventloop_delay_p99_seconds',
    'Delay of the event loop since the last scrape, of the worst process.',
    [],
    {
      aggregator: 'max',
      read: ({ recorder }) => single(recorder.eventLoopDelay.percentile(99) / 1e9),
    },
  ),
  gauge('nodejs_eventloop_delay_max_seconds', 'Its longest delay since the last scrape.', [], {
    aggregator: 'max',
    read: ({ recorder }) => single(recorder.eventLoopDelay.max / 1e9),
  }),
  counter('process_cpu_seconds_total', 'CPU time of the processes that serve.', [], {
    read: () => {
      const { user, system } = process.cpuUsage();
      return single((user + system) / 1e6);
    },
  }),
  gauge('process_resident_memory_bytes', 'Memory of the processes that serve.', [], {
    read: () => single(process.memoryUsage.rss()),
  }),
];

/** Values of the primary process, so they are there with several workers only. */
export const PRIMARY = {
  workers: {
    name: 'usher_workers',
    type: 'gauge',
    help: 'Workers: those that `answered` this scrape, and those that are `silent`. Only with several.',
    labels: ['state'],
    aggregator: 'sum',
  },
  exits: {
    name: 'usher_worker_exits_total',
    type: 'counter',
    help: 'Workers that have exited. Only with several.',
    labels: [],
    aggregator: 'sum',
  },
} as const;

export const METRICS: readonly Definition[] = [...DURATIONS, ...SAMPLED, ...Object.values(PRIMARY)];
