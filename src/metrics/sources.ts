/** The objects from which a scrape reads the metrics of a process. */
import type { Admission } from '../api/admission.ts';
import type { Api } from '../api/api.ts';
import type { Readiness } from '../api/operations/readiness.ts';
import type { Database } from '../database/pool/database.ts';
import { type Backlog, readBacklog } from '../delivery/backlog.ts';
import type { DeliveryRunner } from '../delivery/open-delivery.ts';
import { countDeclared } from '../domain/applications/count-declared.ts';
import type { Listener } from '../http/listener.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { MailServer } from '../mail/open-mail.ts';
import type { Recorder } from './recorder.ts';

export interface Sources {
  readonly admissions: Readonly<Record<string, Pick<Admission, 'load'>>>;
  readonly caches: Readonly<Record<string, Pick<Api['caches']['sessions'], 'lookUps'>>>;
  readonly clock: () => Date;
  /** Database clients by name. Undefined where this process does not use the client. */
  readonly databases: Readonly<Record<string, Pick<Database, 'load'> | undefined>>;
  readonly delivery: Pick<DeliveryRunner, 'outcomes'>;
  /** Resolves to undefined if Postgres does not answer. */
  readonly readDeclared: ReadDeclared;
  readonly listener: Pick<Listener, 'connectionCounts'>;
  readonly mailer: Pick<MailQueue, 'outcomes'>;
  readonly mailServer: Pick<MailServer, 'read'>;
  readonly readBacklog: ReadBacklog;
  readonly readiness: Pick<Readiness, 'read'>;
  readonly recorder: Recorder;
}

type ReadDeclared = () => Promise<Awaited<ReturnType<typeof countDeclared>> | undefined>;

const VALID_MS = 15_000;
const TIMEOUT_MS = 1_000;

/** Resolves to the backlog of deliveries, or to undefined if Postgres does not answer. */
type ReadBacklog = () => Promise<Backlog | undefined>;

/** Returns a function that reads the backlog at most once in 15 seconds. */
export function createBacklogReader(database: Pick<Database, 'within'>): ReadBacklog {
  return share(() => readBacklog(database.within(performance.now() + TIMEOUT_MS)).catch(() => undefined), VALID_MS);
}

/** Returns a function that counts declared applications at most once in 15 seconds. */
export function createDeclaredReader(database: Pick<Database, 'within'>): ReadDeclared {
  return share(() => countDeclared(database.within(performance.now() + TIMEOUT_MS)).catch(() => undefined), VALID_MS);
}

/** Returns a function whose callers share one result of `read` until `validMs` after that has settled. */
export function share<Answer>(read: () => Promise<Answer>, validMs: number): () => Promise<Answer> {
  let shared: Promise<Answer> | undefined;
  const forget = () => {
    shared = undefined;
  };
  return () => {
    shared ??= read().finally(() => setTimeout(forget, validMs).unref());
    return shared;
  };
}
