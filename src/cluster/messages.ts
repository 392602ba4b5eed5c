/** What the primary and its workers tell each other, over the channel between the processes. */
import { BlockList } from 'node:net';
import type { Bootstrap } from '../bootstrap.ts';
import type { Config } from '../config/config.ts';
import type { Demo } from '../demo/demo.ts';

/** From the primary: what to serve, and with what. */
export interface WorkerInit {
  readonly config: SentConfig;
  readonly foundation: Bootstrap;
  /** Undefined: still to be opened, where there is to be one. */
  readonly demo: Demo | undefined;
}

/** From a worker that serves. */
export interface Started {
  readonly url: string;
  readonly demo: Demo | undefined;
}

/** From a worker: it serves, or why it cannot. */
export type WorkerStatus = Started | { readonly failure: string };

/** A block list is the one part of the settings that cannot be sent as it is. */
type SentConfig = Omit<Config, 'trustedProxies'> & { readonly trustedProxies: readonly string[] };

export function packConfig(config: Config): SentConfig {
  return { ...config, trustedProxies: config.trustedProxies.toJSON() };
}

export function unpackConfig(config: SentConfig): Config {
  const trustedProxies = new BlockList();
  trustedProxies.fromJSON(config.trustedProxies);
  return { ...config, trustedProxies };
}
