/** What the primary and its workers send each other over the channel between the processes. */
import { BlockList } from 'node:net';
import type { Bootstrap } from '../bootstrap.ts';
import type { Config } from '../config/config.ts';
import type { Demo } from '../demo/demo.ts';

/** The primary tells a worker what to serve. */
export interface WorkerInit {
  readonly config: SentConfig;
  readonly bootstrap: Bootstrap;
  /** Undefined if the worker is to open it. */
  readonly demo: Demo | undefined;
}

/** A worker serves. */
export interface WorkerStarted {
  readonly url: string;
  readonly demo: Demo | undefined;
}

/** A worker serves, or cannot. */
export type WorkerStatus = WorkerStarted | { readonly failure: string };

/** Asks to forget what is cached of the user; without the user, says that the request of that ID is done. */
export interface RevocationMessage {
  readonly revocation: number;
  readonly userId?: string;
}

/** A block list is the only part of the settings that cannot be sent as it is. */
type SentConfig = Omit<Config, 'trustedProxies'> & { readonly trustedProxies: readonly string[] };

export function packConfig(config: Config): SentConfig {
  return { ...config, trustedProxies: config.trustedProxies.toJSON() };
}

export function unpackConfig(config: SentConfig): Config {
  const trustedProxies = new BlockList();
  trustedProxies.fromJSON(config.trustedProxies);
  return { ...config, trustedProxies };
}
