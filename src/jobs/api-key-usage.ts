import type { Database } from '../database/database.ts';
import type { ApiKeyUsage } from '../domain/api-keys/api-key-usage.ts';
import { pause } from '../domain/pause.ts';

const INTERVAL_MS = 60_000;
const SAVE_TIMEOUT_MS = 5_000;

/** Stores about once a minute when API keys were last used. At shutdown the server stores the rest. */
export async function runApiKeyUsageJob(
  database: Database,
  usage: ApiKeyUsage,
  { signal, onError }: { signal: AbortSignal; onError: (error: unknown) => void },
): Promise<void> {
  while (!signal.aborted) {
    // Jitter, so that replicas started together do not run together.
    await pause(INTERVAL_MS * (0.5 + Math.random() / 2), signal);
    if (!signal.aborted) await usage.save(database.within(performance.now() + SAVE_TIMEOUT_MS)).catch(onError);
  }
}
