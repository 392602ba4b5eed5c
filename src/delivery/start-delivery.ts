/** Opens what delivery needs of its own: connections to Postgres, and sockets to endpoints. */
import type { Config } from '../config/config.ts';
import { VERSION } from '../config/version.ts';
import { Database, type RecordStatement } from '../database/database.ts';
import type { AddressPolicy } from '../domain/webhooks/address-policy.ts';
import { createResolve } from './address-lookup.ts';
import { Sender } from './attempt.ts';
import type { DeliveryParts } from './batch.ts';
import type { Result } from './settle.ts';
import { STATEMENT_TIMEOUT_MS } from './settlement.ts';
import { DeliveryWorker } from './worker.ts';

/** Apart from those of calls, so that neither waits for the other. */
const CONNECTIONS = 2;
/** The rest of a shutdown is for writing down what the attempts have come to. */
const SHUTDOWN_SHARE = 0.8;

export interface DeliveryDependencies extends Pick<DeliveryParts, 'cipher' | 'clock' | 'logger'> {
  readonly policy: AddressPolicy;
  readonly recordStatement?: RecordStatement | undefined;
}

export interface Delivery {
  /** The attempts since the start, by what they have made of their deliveries. */
  readonly outcomes: Readonly<Record<Result['status'], number>>;
  /** Undefined if this process does not deliver. */
  readonly database: Database | undefined;
  /** Tells that an application has a message. */
  wake(applicationId: string): void;
  /** Delivers until the signal is aborted and what was in flight has ended. */
  run(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Returns a worker that has not begun to deliver, or one that never does. */
export function openDelivery(
  settings: Config & { readonly databaseUrl: string },
  { policy, recordStatement, ...parts }: DeliveryDependencies,
): Delivery {
  const outcomes = { pending: 0, succeeded: 0, failed: 0 };
  if (!settings.webhookDelivery) return { outcomes, database: undefined, wake() {}, async run() {}, async close() {} };
  const { databaseUrl, shutdownTimeoutMs, webhookTimeoutMs: timeoutMs, webhookProxyUrl: proxyUrl } = settings;
  const database = new Database(databaseUrl, {
    connections: CONNECTIONS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    recordStatement,
    schema: settings.databaseSchema,
  });
  const sender = new Sender({ policy, resolve: createResolve(), timeoutMs, proxyUrl });
  const worker = new DeliveryWorker({
    ...parts,
    database,
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
