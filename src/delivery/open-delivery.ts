/** Opens the delivery of a process, with its own connections to Postgres and to endpoints. */
import type { Config } from '../config/config.ts';
import { VERSION } from '../config/version.ts';
import { Database, type Layout, type RecordStatement } from '../database/pool/database.ts';
import type { AddressPolicy } from '../domain/webhooks/address-policy.ts';
import { createResolve } from './address-lookup.ts';
import { Sender } from './attempt.ts';
import type { DeliveryState } from './settle-statements.ts';
import { DeliveryWorker, type WorkerOptions } from './worker.ts';

/** Calls have other connections, so that calls and deliveries do not wait for each other. */
const CONNECTIONS = 2;
const STATEMENT_TIMEOUT_MS = 5_000;
/** Attempts may take this share of the time for a shutdown. The rest is left for settling them. */
const SHUTDOWN_SHARE = 0.8;

export interface DeliveryDependencies
  extends Pick<WorkerOptions, 'cipher' | 'clock' | 'logger' | 'logoutTokens' | 'onFannedOut'> {
  readonly policy: AddressPolicy;
  readonly recordStatement?: RecordStatement | undefined;
}

export interface DeliveryRunner {
  /** Counts of attempts since the start, by the status of the delivery after the attempt. */
  readonly outcomes: Readonly<Record<DeliveryState['status'], number>>;
  /** Undefined if this process does not deliver. */
  readonly database: Database | undefined;
  /** Delivers new messages of an application without waiting for the next poll. */
  wake(applicationId: string): void;
  /** Delivers until the signal is aborted and attempts in flight have ended. */
  run(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Returns a runner, which delivers once `run` is called. With `WEBHOOK_DELIVERY=false` it never delivers. */
export function openDelivery(
  settings: Config & { readonly databaseUrl: string; readonly layout: Layout },
  { policy, recordStatement, ...parts }: DeliveryDependencies,
): DeliveryRunner {
  const outcomes = { pending: 0, succeeded: 0, failed: 0 };
  if (!settings.webhookDelivery) return { outcomes, database: undefined, wake() {}, async run() {}, async close() {} };
  const { databaseUrl, shutdownTimeoutMs, webhookTimeoutMs: timeoutMs, webhookProxyUrl: proxyUrl } = settings;
  const database = new Database(databaseUrl, {
    connections: CONNECTIONS,
    layout: settings.layout,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    recordStatement,
    schema: settings.databaseSchema,
  });
  const sender = new Sender({ policy, resolve: createResolve(), timeoutMs, proxyUrl });
  const worker = new DeliveryWorker({
    ...parts,
    run: database.eachWithin(STATEMENT_TIMEOUT_MS),
    outcomes,
    sender,
    concurrency: settings.webhookConcurrency,
    schedule: settings.webhookRetrySchedule,
    userAgent: `Usher-Webhooks/${VERSION}`,
  });
  return {
    outcomes,
    database,
    wake: (applicationId) => worker.wake(applicationId),
    run: (signal) => worker.run(signal, shutdownTimeoutMs * SHUTDOWN_SHARE),
    async close() {
      sender.close();
      await database.close();
    },
  };
}
