/** The messages between the primary and its workers. */
import type { Bootstrap } from '../bootstrap.ts';
import type { Config } from '../config/config.ts';
import type { Demo } from '../demo/demo.ts';
import type { Snapshot } from '../metrics/collect.ts';

/** From the primary to a worker, which then starts to serve. */
export interface WorkerInit {
  readonly config: Config;
  readonly bootstrap: Bootstrap;
  /** Undefined if this worker opens the demo. */
  readonly demo: Demo | undefined;
}

/** From a worker that has started to serve. */
export interface WorkerStarted {
  readonly url: string;
  readonly demo: Demo | undefined;
  readonly consoleLink: string | undefined;
}

export type WorkerStatus = WorkerStarted | { readonly failure: string };

/**
 * Asks the receiver to forget the cached sessions of the user. Without `userId`, confirms the request with the same ID.
 */
export interface RevocationMessage {
  readonly revocation: number;
  readonly userId?: string;
}

/** From the primary to a worker. The primary sends another only after the reply. */
export interface MetricsRequest {
  /** Whether the reply includes the metrics that have the same values in all processes. */
  readonly withShared: boolean;
}

export interface MetricsReply {
  readonly metrics: readonly Snapshot[];
}
