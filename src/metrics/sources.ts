/** The objects from which a scrape reads the metrics of a process. */
import type { Admission } from '../api/admission.ts';
import type { Api } from '../api/api.ts';
import type { Readiness } from '../api/operations/readiness.ts';
import type { Database } from '../database/pool/database.ts';
import type { DeliveryRunner } from '../delivery/open-delivery.ts';
import type { Listener } from '../http/listener.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { ReadBacklog } from './backlog-reader.ts';
import type { Recorder } from './recorder.ts';

export interface Sources {
  readonly admissions: Readonly<Record<string, Pick<Admission, 'load'>>>;
  readonly caches: Readonly<Record<string, Pick<Api['caches']['sessions'], 'lookUps'>>>;
  readonly clock: () => Date;
  /** Database clients by name. Undefined where this process does not use the client. */
  readonly databases: Readonly<Record<string, Pick<Database, 'load'> | undefined>>;
  readonly delivery: Pick<DeliveryRunner, 'outcomes'>;
  readonly listener: Pick<Listener, 'connectionCounts'>;
  readonly mailer: Pick<MailQueue, 'outcomes'>;
  readonly readBacklog: ReadBacklog;
  readonly readiness: Pick<Readiness, 'read'>;
  readonly recorder: Recorder;
}
